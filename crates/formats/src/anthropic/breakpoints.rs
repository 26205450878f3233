//! Cache breakpoints. A request uses three of the four that it may have: at the last block of `system`, at the opening, and
//! at the last block before the closing.

use super::blocks::{Block, CacheControl};

/// Sets a breakpoint at the last block that can have one. Thoughts and verbatim blocks cannot.
pub(super) fn mark_last(blocks: &mut [Block<'_>]) {
    let markable = blocks.iter_mut().rev().find_map(|block| match block {
        Block::Content(content) => Some(content),
        Block::Thought(_) | Block::Verbatim(_) => None,
    });
    if let Some(content) = markable {
        content.cache_control = Some(CacheControl::Ephemeral);
    }
}
