//! The keys of the hibernated conversations of one segment.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use domain::{ConversationKey, Sequence};

use crate::ArchiveError;
use crate::object::Object;
use crate::segment::{ArchivedMessage, Index};

/// Maximum hibernated conversations whose keys a process keeps in memory, 8 bytes each. The keys of other segments are read again
/// for each look-up, which is slow.
pub(super) const KEYS_MAX: usize = 40_000_000;

/// Hashes of keys, with the number of the block of each last commit.
#[derive(Debug)]
pub(super) struct SegmentKeys {
    /// The index without its conversations.
    blocks: Index,
    /// In order.
    hashes: Vec<(u32, u32)>,
}

impl SegmentKeys {
    pub(super) async fn read(object: &Object) -> Result<Self, ArchiveError> {
        let index = object.unshared_index().await?;
        let mut hashes: Vec<_> =
            index.hibernated().map(|one| (hash_of(&one.key), block_of(&index, one.last))).collect();
        hashes.sort_unstable();
        Ok(Self { blocks: Index { conversations: Vec::new(), ..index }, hashes })
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    /// The last commit of a conversation, if it is hibernated in this segment.
    pub(super) async fn find(
        &self,
        object: &Object,
        key: &ConversationKey,
    ) -> Result<Option<ArchivedMessage>, ArchiveError> {
        let hash = hash_of(key);
        let start = self.hashes.partition_point(|(known, _)| *known < hash);
        let equal = self.hashes.iter().skip(start);
        for (_, block) in equal.take_while(|(known, _)| *known == hash) {
            let block = usize::try_from(*block).unwrap_or(usize::MAX);
            let Some(block) = self.blocks.blocks.get(block) else {
                continue;
            };
            let messages = object.block(&self.blocks, block).await?;
            let mut newest_first = messages.into_iter().rev();
            // Another conversation can have the same hash.
            if let Some(last) = newest_first.find(|message| message.key == *key) {
                return Ok(Some(last));
            }
        }
        Ok(None)
    }
}

fn block_of(index: &Index, last: Sequence) -> u32 {
    let blocks = &index.blocks;
    let block = blocks.partition_point(|block| block.last < last);
    u32::try_from(block).unwrap_or(u32::MAX)
}

/// Short, since a segment has at most [`SEGMENT_MESSAGES_MAX`](crate::segment::SEGMENT_MESSAGES_MAX) keys: one of 40,000
/// look-ups of other keys reads a block.
fn hash_of(key: &ConversationKey) -> u32 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let [first, second, third, fourth, ..] = hasher.finish().to_be_bytes();
    u32::from_be_bytes([first, second, third, fourth])
}
