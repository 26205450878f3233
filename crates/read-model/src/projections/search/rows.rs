//! The rows of documents.

use domain::event::{ConversationCreated, ConversationUpdated};
use domain::{ConversationKey, Fact, FieldChange, Lifecycle, RecordedEvent, Timestamp};
use search::{Document, Term, TermKey};
use sqlx::postgres::PgConnection;

use super::agents::Settings;
use crate::arguments::{arguments, bind_keys, execute, key_parts, signed};
use crate::pg_timestamp::PgTimestamp;

/// The version of a title's document.
pub(super) const TITLE_VERSION: u64 = 0;

/// A row of `document`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentRow {
    pub(super) key: ConversationKey,
    pub(super) version: u64,
    pub(super) recorded_at: Timestamp,
    pub(super) terms: Vec<Term>,
}

/// The changes of a batch.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The documents to write, at most one of each version of a conversation.
    pub(super) rows: Vec<DocumentRow>,
    /// The conversations that have no title any more.
    pub(super) cleared_titles: Vec<ConversationKey>,
}

/// What the documents of a conversation are made with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'s> {
    pub(super) term_key: &'s TermKey,
    pub(super) settings: &'s Settings,
    pub(super) key: &'s ConversationKey,
}

impl Source<'_> {
    fn row(&self, document: &Document, version: u64, recorded_at: Timestamp) -> DocumentRow {
        DocumentRow {
            key: self.key.clone(),
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
            self.rows.push(row);
        }
        let Some(title) = title_change(&event.event.fact) else {
            return;
        };
        let is_title = |row: &DocumentRow| row.version == TITLE_VERSION && row.key == *source.key;
        self.rows.retain(|row| !is_title(row));
        self.cleared_titles.retain(|cleared| cleared != source.key);
        match title {
            FieldChange::Set(title) => {
                let document = Document::of_title(title);
                self.rows
                    .push(source.row(&document, TITLE_VERSION, event.recorded_at));
            }
            FieldChange::Clear => self.cleared_titles.push(source.key.clone()),
        }
    }

    /// Writes the changes.
    pub(super) async fn write(&self, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        if !self.cleared_titles.is_empty() {
            let keys = bind_keys(self.cleared_titles.iter().map(key_parts));
            execute(connection, include_str!("delete_titles.sql"), keys).await?;
        }
        if self.rows.is_empty() {
            return Ok(());
        }
        write_rows(connection, &self.rows).await
    }
}

/// What an event changes about the title; `None`: nothing.
fn title_change(fact: &Fact) -> Option<FieldChange<&str>> {
    let Fact::Lifecycle(lifecycle) = fact else {
        return None;
    };
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "two of the lifecycle events have a title"
    )]
    match lifecycle {
        Lifecycle::ConversationCreated(ConversationCreated { title, .. }) => {
            title.as_deref().map(FieldChange::Set)
        }
        Lifecycle::ConversationUpdated(ConversationUpdated { title, .. }) => match title {
            Some(FieldChange::Set(title)) => Some(FieldChange::Set(title)),
            Some(FieldChange::Clear) => Some(FieldChange::Clear),
            None => None,
        },
        _ => None,
    }
}

/// Writes documents, in place of earlier ones of the same versions.
async fn write_rows(
    connection: &mut PgConnection,
    rows: &[DocumentRow],
) -> Result<(), sqlx::Error> {
    let versions: Vec<i64> = rows.iter().map(|row| signed(row.version)).collect();
    let times = rows
        .iter()
        .map(|row| PgTimestamp::from_time(row.recorded_at));
    let tenants: Vec<&str> = rows.iter().map(|row| row.key.tenant.as_str()).collect();
    let ids = rows.iter().map(|row| row.key.conversation.as_str());
    // An array of arrays must be a rectangle, so the terms of all documents are one array, with the number of each.
    let counts = rows.iter().map(|row| row.terms.len());
    let counts = counts.map(|count| i32::try_from(count).unwrap_or(i32::MAX));
    let terms: Vec<Term> = rows.iter().flat_map(|row| &row.terms).copied().collect();
    let arguments = arguments![
        versions,
        times.collect::<Vec<PgTimestamp>>(),
        tenants,
        ids.collect::<Vec<&str>>(),
        counts.collect::<Vec<i32>>(),
        terms,
    ];
    let sql = include_str!("write_documents.sql");
    execute(connection, sql, arguments).await.map(drop)
}
