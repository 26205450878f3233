//! Walking all rows of a range of conversations, in order, within bounded memory.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use domain::ConversationKey;
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::cell::{digest_cell, sent};
use super::super::column::names;
use super::super::conversation_rows::ProjectedConversation;
use super::super::event_rows::ProjectedEvent;
use super::super::row_key::key_of;
use super::fold::{LARGE_COLUMNS, RowsDigest, ValueDigest, value_digest};
use super::keys::KeyRange;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// Conversations of one page.
const CONVERSATIONS_PER_PAGE: i64 = 500;
/// Most events of one read.
const EVENTS_PER_READ_MAX: i64 = 2_000;
/// Bytes of events' bodies that a read aims at, going by those of the read before it.
const BYTES_PER_READ: usize = 4 * 1_024 * 1_024;

static WALK_CONVERSATIONS: LazyLock<String> = LazyLock::new(|| {
    let columns = names(ProjectedConversation::ROW, "");
    format!(include_str!("walk_conversations.sql"), columns = columns)
});
static WALK_EVENTS: LazyLock<String> = LazyLock::new(|| {
    format!(
        include_str!("walk_events.sql"),
        columns = ProjectedEvent::names()
    )
});

/// A conversation as its rows have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkedConversation {
    /// The conversation; the rows may be events' alone.
    pub key: ConversationKey,
    /// Its rows, in short.
    pub digest: RowsDigest,
}

/// Some of the conversations of a walk.
#[derive(Debug, Clone, Default)]
pub struct RowsPage {
    /// The conversations, in order.
    pub conversations: Vec<WalkedConversation>,
    /// How many events they have.
    pub events: u64,
}

/// A walk over a range of conversations. Each page is of some moment, and its events may be of a later one.
#[derive(Debug)]
pub struct RowsWalk<'m> {
    model: &'m ReadModel,
    /// What is left; `None`: nothing.
    range: Option<KeyRange>,
    events_per_read: i64,
}

/// The rows of one conversation, while they are read.
#[derive(Debug, Default)]
struct Reading {
    row: Option<ValueDigest>,
    events: Sha256,
}

impl<'m> RowsWalk<'m> {
    /// Begins a walk.
    #[must_use]
    pub fn over(model: &'m ReadModel, range: KeyRange) -> Self {
        Self {
            model,
            range: Some(range),
            events_per_read: EVENTS_PER_READ_MAX,
        }
    }

    /// The next conversations; `None`: that was all.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`], when it may be asked for again, or [`ReadModelError::Corrupt`] for a row whose key
    /// is none.
    pub async fn next(&mut self) -> Result<Option<RowsPage>, ReadModelError> {
        let Some(range) = self.range.clone() else {
            return Ok(None);
        };
        let arguments = || bind(range.bind(), CONVERSATIONS_PER_PAGE);
        let rows = self.model.fetch(&WALK_CONVERSATIONS, arguments).await?;
        let mut readings: BTreeMap<ConversationKey, Reading> = BTreeMap::new();
        for row in &rows {
            let reading = Reading {
                row: Some(row_digest(row)?),
                ..Reading::default()
            };
            readings.insert(key_at(row)?, reading);
        }
        let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows >= CONVERSATIONS_PER_PAGE);
        let last = readings.keys().next_back().filter(|_| is_full).cloned();
        let page_range = match &last {
            Some(last) => range.clone().until(last),
            None => range.clone(),
        };
        let events = self.read_events(page_range, &mut readings).await?;
        self.range = last.map(|last| range.after(&last));
        let conversations = readings
            .into_iter()
            .map(|(key, reading)| WalkedConversation {
                key,
                digest: reading.digest(),
            });
        Ok(Some(RowsPage {
            conversations: conversations.collect(),
            events,
        }))
    }

    /// Adds the events of a range to their conversations, in order; how many there were.
    async fn read_events(
        &mut self,
        mut range: KeyRange,
        readings: &mut BTreeMap<ConversationKey, Reading>,
    ) -> Result<u64, ReadModelError> {
        let (mut after_version, mut count) = (i64::MAX, 0);
        loop {
            let limit = self.events_per_read;
            let arguments = || bind(bind(range.bind(), after_version), limit);
            let rows = self.model.fetch(&WALK_EVENTS, arguments).await?;
            count += u64::try_from(rows.len()).unwrap_or(u64::MAX);
            let mut bytes = 0;
            let mut open: Option<(ConversationKey, Reading)> = None;
            for row in &rows {
                bytes += sent(row, "body")?.map_or(0, <[u8]>::len);
                if !open.as_ref().is_some_and(|(key, _)| is_of(row, key)) {
                    let key = key_at(row)?;
                    readings.extend(open.take());
                    let reading = readings.remove(&key).unwrap_or_default();
                    open = Some((key, reading));
                }
                if let Some((_, reading)) = &mut open {
                    for index in 0..ProjectedEvent::COLUMNS.len() {
                        digest_cell(&mut reading.events, sent(row, index)?);
                    }
                }
            }
            if let (Some((key, _)), Some(row)) = (&open, rows.last()) {
                range = range.after(key);
                after_version = row.try_get("version")?;
            }
            readings.extend(open);
            if i64::try_from(rows.len()).is_ok_and(|rows| rows < limit) {
                return Ok(count);
            }
            self.events_per_read = fitting(rows.len(), bytes);
        }
    }
}

/// How many events to read next, when so many had so many bytes.
fn fitting(rows: usize, bytes: usize) -> i64 {
    let each = bytes / rows.max(1);
    let fitting = BYTES_PER_READ / each.max(1);
    i64::try_from(fitting)
        .unwrap_or(i64::MAX)
        .clamp(1, EVENTS_PER_READ_MAX)
}

impl Reading {
    fn digest(self) -> RowsDigest {
        RowsDigest {
            row: self.row,
            events: self.events.finalize().into(),
        }
    }
}

fn row_digest(row: &PgRow) -> Result<ValueDigest, ReadModelError> {
    let mut digest = Sha256::new();
    let columns = ProjectedConversation::ROW.iter().copied().flatten();
    for (index, column) in columns.enumerate() {
        let value = sent(row, index)?;
        if LARGE_COLUMNS.contains(&column.name) {
            let value = value.map(value_digest);
            digest_cell(&mut digest, value.as_ref().map(ValueDigest::as_slice));
        } else {
            digest_cell(&mut digest, value);
        }
    }
    Ok(digest.finalize().into())
}

/// Whether an event's row is of a conversation.
fn is_of(row: &PgRow, key: &ConversationKey) -> bool {
    let is =
        |name, text: &str| matches!(sent(row, name), Ok(Some(bytes)) if bytes == text.as_bytes());
    is("conversation_id", key.conversation.as_str()) && is("tenant_id", key.tenant.as_str())
}

fn key_at(row: &PgRow) -> Result<ConversationKey, ReadModelError> {
    key_of(row.try_get("tenant_id")?, row.try_get("conversation_id")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_events_are_read_few_at_a_time() {
        let check = |rows, bytes, expected| assert_eq!(fitting(rows, bytes), expected);
        check(0, 0, EVENTS_PER_READ_MAX);
        check(2_000, 2_000 * 200, EVENTS_PER_READ_MAX);
        check(2_000, 2_000 * 2_097, EVENTS_PER_READ_MAX);
        check(100, 100 * 4_194, 1_000);
        check(8, 8 * 512 * 1_024, 8);
        check(1, 2 * BYTES_PER_READ, 1);
    }
}
