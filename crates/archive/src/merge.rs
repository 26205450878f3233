//! Merges the messages of several segments in one order. A segment is opened when it is needed, and read block by block.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use domain::{ConversationKey, Sequence};
use uuid::Uuid;

use crate::ArchiveError;
use crate::object::Object;
use crate::segment::{ArchivedMessage, BlockEntry, Index};

/// A partition's archived messages in the order of their sequences, each once. It keeps one block in memory for each segment that
/// overlaps the current sequence.
#[derive(Debug)]
pub struct Reader {
    /// Unopened segments, the last one first.
    waiting: Vec<Object>,
    /// Open segments, by their next message.
    open: BTreeMap<(Sequence, Uuid), OpenSegment>,
    /// The last returned message.
    after: Sequence,
    only: Option<ConversationKey>,
}

#[derive(Debug)]
struct OpenSegment {
    object: Object,
    index: Arc<Index>,
    /// Unread blocks, in order.
    blocks: VecDeque<BlockEntry>,
    messages: VecDeque<ArchivedMessage>,
}

impl Reader {
    pub(crate) fn over(mut objects: Vec<Object>, after: Sequence) -> Self {
        objects.sort_by_key(|object| std::cmp::Reverse(object.sealed.first_sequence));
        Self { waiting: objects, open: BTreeMap::new(), after, only: None }
    }

    /// Restricts the reader to one conversation; skips segments and blocks without it.
    #[must_use]
    pub fn only(self, key: ConversationKey) -> Self {
        Self { only: Some(key), ..self }
    }

    /// The next message; `None`: the end.
    ///
    /// # Errors
    /// [`ArchiveError`]: this reader returns no further messages.
    pub async fn next(&mut self) -> Result<Option<ArchivedMessage>, ArchiveError> {
        loop {
            self.open_due().await?;
            let Some(((sequence, _), mut first)) = self.open.pop_first() else {
                return Ok(None);
            };
            let message = first.messages.pop_front();
            self.reinsert(first).await?;
            // An interrupted trim and a restore can leave two copies of a message; one is skipped.
            if sequence > self.after {
                self.after = sequence;
                return Ok(message);
            }
        }
    }

    /// Opens the segments that may contain the next message.
    async fn open_due(&mut self) -> Result<(), ArchiveError> {
        loop {
            let next = self.open.first_key_value().map(|((next, _), _)| next.0);
            let is_due = |object: &mut Object| next.is_none_or(|next| object.sealed.first_sequence <= next);
            let Some(object) = self.waiting.pop_if(is_due) else {
                return Ok(());
            };
            let index = object.index().await?;
            let blocks = self.blocks_of(&index);
            let opened = OpenSegment { object, index, blocks, messages: VecDeque::new() };
            self.reinsert(opened).await?;
        }
    }

    fn blocks_of(&self, index: &Index) -> VecDeque<BlockEntry> {
        let range = match &self.only {
            None => index.first().zip(index.last()),
            Some(key) => index.conversation(key).map(|one| (one.first, one.last)),
        };
        let Some((first, last)) = range else {
            return VecDeque::new();
        };
        let is_wanted = |block: &&BlockEntry| block.last > self.after && block.last >= first && block.first <= last;
        index.blocks.iter().filter(is_wanted).cloned().collect()
    }

    /// Reinserts a segment by its next message, unless it has no more.
    async fn reinsert(&mut self, mut opened: OpenSegment) -> Result<(), ArchiveError> {
        while opened.messages.is_empty() {
            let Some(block) = opened.blocks.pop_front() else {
                return Ok(());
            };
            let messages = opened.object.block(&opened.index, &block).await?;
            let is_wanted = |message: &ArchivedMessage| {
                message.sequence() > self.after && self.only.as_ref().is_none_or(|key| *key == message.key)
            };
            opened.messages = messages.into_iter().filter(is_wanted).collect();
        }
        if let Some(next) = opened.messages.front() {
            self.open.insert((next.sequence(), opened.object.segment), opened);
        }
        Ok(())
    }
}
