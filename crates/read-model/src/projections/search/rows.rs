//! The documents of a batch.

use std::collections::BTreeMap;

use domain::event::{ConversationCreated, ConversationUpdated};
use domain::{ConversationKey, Fact, FieldChange, Lifecycle, Partition, RecordedEvent, Timestamp};
use search::{Document, TermKey};
use sqlx::postgres::PgConnection;

use super::agents::Settings;
use super::blocks;
use super::document_row::{DocumentRow, TITLE_VERSION};
use crate::arguments::{bind_keys, execute, key_parts};

/// The changes of a batch.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The documents of events, at most one of each version of a conversation.
    pub(super) events: Vec<DocumentRow>,
    /// The documents of titles. `None`: the conversation has no title any more.
    pub(super) titles: BTreeMap<ConversationKey, Option<DocumentRow>>,
}

/// What the documents of a conversation are made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) term_key: &'s TermKey,
    pub(super) settings: &'s Settings,
    pub(super) key: &'s ConversationKey,
    pub(super) partition: Option<Partition>,
}

impl Source<'_> {
    fn row(&self, document: &Document, version: u64, recorded_at: Timestamp) -> DocumentRow {
        DocumentRow {
            key: self.key.clone(),
            partition: self.partition,
            version,
            recorded_at,
            terms: self.settings.terms(self.term_key, document),
        }
    }
}

impl Documents {
    /// Adds the document of an event, if it is searched, and that of the title that it sets, in place of an earlier title.
    pub(super) fn add(&mut self, source: Source<'_>, event: &RecordedEvent) {
        if let Some(document) = Document::of_event(&event.event) {
            let row = source.row(&document, event.version.0, event.recorded_at);
            self.events.push(row);
        }
        let title = match title_change(&event.event.fact) {
            None => return,
            Some(FieldChange::Set(title)) => {
                let document = Document::of_title(title);
                Some(source.row(&document, TITLE_VERSION, event.recorded_at))
            }
            Some(FieldChange::Clear) => None,
        };
        self.titles.insert(source.key.clone(), title);
    }

    /// Writes the changes.
    pub(super) async fn write(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let cleared: Vec<&ConversationKey> =
            self.titles.iter().filter(|(_, title)| title.is_none()).map(|(key, _)| key).collect();
        if !cleared.is_empty() {
            let keys = bind_keys(cleared.into_iter().map(key_parts));
            execute(connection, include_str!("delete_titles.sql"), keys).await?;
        }
        blocks::write(connection, self.rows().collect()).await
    }

    /// The documents to write.
    pub(super) fn rows(&self) -> impl Iterator<Item = &DocumentRow> {
        self.events.iter().chain(self.titles.values().flatten())
    }
}

/// What an event changes about the title; `None`: nothing.
fn title_change(fact: &Fact) -> Option<FieldChange<&str>> {
    let Fact::Lifecycle(lifecycle) = fact else {
        return None;
    };
    #[expect(clippy::wildcard_enum_match_arm, reason = "two of the lifecycle events have a title")]
    match lifecycle {
        Lifecycle::ConversationCreated(ConversationCreated { title, .. }) => title.as_deref().map(FieldChange::Set),
        Lifecycle::ConversationUpdated(ConversationUpdated { title, .. }) => match title {
            Some(FieldChange::Set(title)) => Some(FieldChange::Set(title)),
            Some(FieldChange::Clear) => Some(FieldChange::Clear),
            None => None,
        },
        _ => None,
    }
}
