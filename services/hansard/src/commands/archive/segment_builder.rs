//! Builds one segment: collects messages, seals them and trims them from the record.

use std::collections::BTreeSet;

use archive::segment::{ArchivedMessage, SEGMENT_BYTES, SEGMENT_MESSAGES_MAX};
use archive::{Draft, LastCommits, Store};
use domain::{ConversationKey, Partition};
use event_log::TimedMessage;
use uuid::Uuid;

use super::RunScope;
use super::report::Report;
use super::unfinished::trim;
use crate::view::when::{now, rfc3339};

/// The messages of a segment that is not sealed yet.
pub(super) struct SegmentBuilder<'s> {
    scope: &'s RunScope,
    store: &'s Store,
    partition: Partition,
    /// `None`: the catalogue has no entry for the segment yet.
    draft: Option<Draft>,
    messages: Vec<ArchivedMessage>,
    bytes: usize,
    /// The index of the current conversation's first message.
    conversation_start: usize,
    /// Conversations whose last commit is among the messages.
    hibernated: BTreeSet<ConversationKey>,
}

impl<'s> SegmentBuilder<'s> {
    pub(super) fn new(scope: &'s RunScope, store: &'s Store, partition: Partition) -> Self {
        Self {
            scope,
            store,
            partition,
            draft: None,
            messages: Vec::new(),
            bytes: 0,
            conversation_start: 0,
            hibernated: BTreeSet::new(),
        }
    }

    /// Adds the segment to the catalogue. Must be called before messages are read from the record.
    /// Returns its id.
    pub(super) async fn reserve(&mut self) -> anyhow::Result<Uuid> {
        if let Some(draft) = &self.draft {
            return Ok(draft.segment());
        }
        let draft = self.scope.archive.draft(self.store, self.partition).await?;
        let segment = draft.segment();
        self.draft = Some(draft);
        Ok(segment)
    }

    /// Whether the segment is still that of an earlier reservation.
    pub(super) fn is_reserved_as(&self, segment: Uuid) -> bool {
        let draft = self.draft.as_ref();
        draft.is_some_and(|draft| draft.segment() == segment)
    }

    /// Starts another conversation.
    pub(super) fn begin_conversation(&mut self) {
        self.conversation_start = self.messages.len();
    }

    /// Removes the messages of the current conversation.
    pub(super) fn drop_conversation(&mut self) {
        for dropped in self.messages.drain(self.conversation_start..) {
            self.bytes = self.bytes.saturating_sub(dropped.message.message.len());
        }
    }

    /// The last message is the last commit of its conversation, and leaves the record.
    pub(super) fn hibernate(&mut self, key: &ConversationKey) {
        self.hibernated.insert(key.clone());
    }

    pub(super) fn push(&mut self, key: &ConversationKey, message: TimedMessage) {
        self.bytes = self.bytes.saturating_add(message.message.message.len());
        self.messages.push(archived(key, message));
    }

    /// Whether all earlier commits of the conversation are sealed, or there are none.
    pub(super) async fn is_preceded(&self, key: &ConversationKey, first: &TimedMessage) -> anyhow::Result<bool> {
        let first = archived(key, first.clone());
        Ok(self.scope.archive.has_predecessor(&first).await?)
    }

    /// Ends the segment if it has no room left; returns whether it ended. Must be called after each message.
    pub(super) async fn close_if_full(&mut self, report: &mut Report) -> anyhow::Result<bool> {
        let is_full = self.bytes >= SEGMENT_BYTES || self.messages.len() >= SEGMENT_MESSAGES_MAX;
        if is_full {
            self.close(report).await?;
        }
        Ok(is_full)
    }

    /// Seals the collected messages and trims them from the record.
    pub(super) async fn close(&mut self, report: &mut Report) -> anyhow::Result<()> {
        let mut messages = std::mem::take(&mut self.messages);
        let hibernated = std::mem::take(&mut self.hibernated);
        (self.bytes, self.conversation_start) = (0, 0);
        let Some(draft) = self.draft.take() else {
            return Ok(());
        };
        if messages.is_empty() {
            return Ok(draft.discard().await?);
        }
        messages.sort_unstable_by_key(ArchivedMessage::sequence);
        let draft = draft.hibernating(hibernated);
        let segment = draft.seal(&messages, &rfc3339(now())).await?;
        drop(messages);
        report.sealed(&segment)?;
        let RunScope { archive, removal, .. } = self.scope;
        trim(archive, segment, LastCommits::Keep, *removal, report).await
    }
}

fn archived(key: &ConversationKey, message: TimedMessage) -> ArchivedMessage {
    ArchivedMessage { key: key.clone(), message: message.message, stored_at: message.stored_at }
}
