//! A segment that is being filled.

use archive::segment::{ArchivedMessage, SEGMENT_BYTES, SEGMENT_MESSAGES_MAX};
use archive::{Draft, Store};
use domain::{ConversationKey, Partition, Timestamp};
use event_log::TimedMessage;
use runtime::clock::Clock;

use super::leftovers::trim;
use super::report::Report;
use super::run_scope::RunScope;
use crate::erase::receipt::rfc3339;

/// The messages of a segment to come.
pub(super) struct Filling<'s> {
    scope: &'s RunScope,
    store: &'s Store,
    partition: Partition,
    /// `None`: none is told of in the catalogue yet.
    draft: Option<Draft>,
    messages: Vec<ArchivedMessage>,
    bytes: usize,
    /// Where the present conversation begins among them.
    begun: usize,
}

impl<'s> Filling<'s> {
    pub(super) fn new(scope: &'s RunScope, store: &'s Store, partition: Partition) -> Self {
        Self {
            scope,
            store,
            partition,
            draft: None,
            messages: Vec::new(),
            bytes: 0,
            begun: 0,
        }
    }

    /// Tells the catalogue, before anything of the record is read.
    pub(super) async fn ready(&mut self) -> anyhow::Result<()> {
        if self.draft.is_none() {
            let draft = self.scope.archive.draft(self.store, self.partition);
            self.draft = Some(draft.await?);
        }
        Ok(())
    }

    /// The next messages are another conversation's.
    pub(super) fn begin_conversation(&mut self) {
        self.begun = self.messages.len();
    }

    /// What was taken of the present conversation does not go.
    pub(super) fn drop_conversation(&mut self) {
        for dropped in self.messages.drain(self.begun..) {
            self.bytes = self.bytes.saturating_sub(dropped.message.message.len());
        }
    }

    pub(super) fn push(&mut self, key: &ConversationKey, message: TimedMessage) {
        self.bytes = self.bytes.saturating_add(message.message.message.len());
        self.messages.push(ArchivedMessage {
            key: key.clone(),
            message: message.message,
            stored_at: message.stored_at,
        });
    }

    /// Whether all commits of the conversation before this one are sealed, or there are none.
    pub(super) async fn is_preceded(
        &self,
        key: &ConversationKey,
        first: &TimedMessage,
    ) -> anyhow::Result<bool> {
        let first = ArchivedMessage {
            key: key.clone(),
            message: first.message.clone(),
            stored_at: first.stored_at,
        };
        Ok(self.scope.archive.is_preceded(&first).await?)
    }

    pub(super) fn is_full(&self) -> bool {
        self.bytes >= SEGMENT_BYTES || self.messages.len() >= SEGMENT_MESSAGES_MAX
    }

    /// Seals what there is, and takes it out of the record.
    pub(super) async fn close(&mut self, report: &mut Report) -> anyhow::Result<()> {
        let mut messages = std::mem::take(&mut self.messages);
        (self.bytes, self.begun) = (0, 0);
        let Some(draft) = self.draft.take() else {
            return Ok(());
        };
        if messages.is_empty() {
            return Ok(draft.discard().await?);
        }
        messages.sort_unstable_by_key(ArchivedMessage::sequence);
        let now = rfc3339(Timestamp(Clock::System.now_nanos()));
        let segment = draft.seal(&messages, &now).await?;
        drop(messages);
        report.sealed(&segment)?;
        trim(&self.scope.archive, segment, report).await
    }
}
