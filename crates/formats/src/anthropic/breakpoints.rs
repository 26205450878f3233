//! Where Anthropic's cache may begin anew. At most three of the four that a request may have, at places that stay or move
//! with the conversation's end: the last block of `system`, the opening, and the last block before the closing.

use super::blocks::{Block, CacheControl};

/// Marks the last of the blocks that can be marked: a thought cannot, and what is verbatim stays so.
pub(super) fn mark_last(blocks: &mut [Block<'_>]) {
    let markable = blocks.iter_mut().rev().find_map(|block| match block {
        Block::Content(content) => Some(content),
        Block::Thought(_) | Block::Verbatim(_) => None,
    });
    if let Some(content) = markable {
        content.cache_control = Some(CacheControl::Ephemeral);
    }
}
