//! Scans all rows of a range of conversations, in order, with bounded memory.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use domain::{ConversationKey, DocumentNamespace};
use sha2::{Digest as _, Sha256};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::cell::{column_bytes, digest_cell};
use super::super::column::names;
use super::super::conversation_rows::ProjectedConversation;
use super::super::event_rows::ProjectedEvent;
use super::super::row_key::parse_key;
use super::documents::{SCAN_DOCUMENTS, digest_document};
use super::fold::{LARGE_COLUMNS, RowsDigest};
use super::keys::KeyRange;
use super::value_digest::{ValueDigest, value_digest};
use crate::arguments::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;

const CONVERSATIONS_PER_PAGE: i64 = 500;
/// Maximum number of events per read.
const EVENTS_PER_READ_MAX: i64 = 2_000;
/// Target bytes of event bodies per read, estimated from the previous read.
const BYTES_PER_READ: usize = 4 * 1_024 * 1_024;

static SCAN_CONVERSATIONS: LazyLock<String> = LazyLock::new(|| {
    let columns = names(ProjectedConversation::ROW, "");
    format!(include_str!("scan_conversations.sql"), columns = columns)
});
static SCAN_EVENTS: LazyLock<String> =
    LazyLock::new(|| format!(include_str!("scan_events.sql"), columns = ProjectedEvent::names()));

/// A conversation and the digest of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedConversation {
    /// The conversation; it may have rows of events only.
    pub key: ConversationKey,
    /// The digest of its rows.
    pub digest: RowsDigest,
}

/// A page of a scan.
#[derive(Debug, Clone, Default)]
pub struct RowsPage {
    /// The conversations, in order.
    pub conversations: Vec<ScannedConversation>,
    /// Number of their events.
    pub events: u64,
}

/// A scan of a range of conversations. Each page is a snapshot; its events may be of a later one.
#[derive(Debug)]
pub struct RowsScan<'m> {
    model: &'m ReadModel,
    /// The rest of the range; `None`: the end.
    range: Option<KeyRange>,
    events_per_read: i64,
}

/// The digests of one conversation while its rows are read.
#[derive(Debug, Default)]
struct RowsHasher {
    row: Option<ValueDigest>,
    events: Sha256,
    documents: Sha256,
}

impl<'m> RowsScan<'m> {
    /// Starts a scan.
    #[must_use]
    pub fn new(model: &'m ReadModel, range: KeyRange) -> Self {
        Self { model, range: Some(range), events_per_read: EVENTS_PER_READ_MAX }
    }

    /// The next page; `None`: the end.
    ///
    /// # Errors
    /// [`ReadModelError::Unavailable`]: retry; or [`ReadModelError::Corrupt`] for a row with an invalid key.
    pub async fn next(&mut self) -> Result<Option<RowsPage>, ReadModelError> {
        let Some(range) = self.range.clone() else {
            return Ok(None);
        };
        let arguments = || bind(range.bind(), CONVERSATIONS_PER_PAGE);
        let rows = self.model.fetch(&SCAN_CONVERSATIONS, arguments).await?;
        let mut hashers: BTreeMap<ConversationKey, RowsHasher> = BTreeMap::new();
        for row in &rows {
            let hasher = RowsHasher { row: Some(row_digest(row)?), ..RowsHasher::default() };
            hashers.insert(key_at(row)?, hasher);
        }
        let is_full = i64::try_from(rows.len()).is_ok_and(|rows| rows >= CONVERSATIONS_PER_PAGE);
        let last = hashers.keys().next_back().filter(|_| is_full).cloned();
        let page_range = match &last {
            Some(last) => range.clone().until(last),
            None => range.clone(),
        };
        let events = self.read_events(page_range.clone(), &mut hashers).await?;
        self.read_documents(page_range, &mut hashers).await?;
        self.range = last.map(|last| range.after(&last));
        let conversations =
            hashers.into_iter().map(|(key, hasher)| ScannedConversation { key, digest: hasher.digest() });
        Ok(Some(RowsPage { conversations: conversations.collect(), events }))
    }

    /// Adds the events of a range to their conversations, in order. Returns their number.
    async fn read_events(
        &mut self,
        mut range: KeyRange,
        hashers: &mut BTreeMap<ConversationKey, RowsHasher>,
    ) -> Result<u64, ReadModelError> {
        let (mut after_version, mut count) = (i64::MAX, 0);
        loop {
            let limit = self.events_per_read;
            let arguments = || bind(bind(range.bind(), after_version), limit);
            let rows = self.model.fetch(&SCAN_EVENTS, arguments).await?;
            count += u64::try_from(rows.len()).unwrap_or(u64::MAX);
            let mut bytes = 0;
            let mut current: Option<(ConversationKey, RowsHasher)> = None;
            for row in &rows {
                bytes += column_bytes(row, "body")?.map_or(0, <[u8]>::len);
                if !current.as_ref().is_some_and(|(key, _)| is_of(row, key)) {
                    let key = key_at(row)?;
                    hashers.extend(current.take());
                    let hasher = hashers.remove(&key).unwrap_or_default();
                    current = Some((key, hasher));
                }
                if let Some((_, hasher)) = &mut current {
                    for index in 0..ProjectedEvent::COLUMNS.len() {
                        digest_cell(&mut hasher.events, column_bytes(row, index)?);
                    }
                }
            }
            if let (Some((key, _)), Some(row)) = (&current, rows.last()) {
                range = range.after(key);
                after_version = row.try_get("version")?;
            }
            hashers.extend(current);
            if i64::try_from(rows.len()).is_ok_and(|rows| rows < limit) {
                return Ok(count);
            }
            self.events_per_read = fitting(rows.len(), bytes);
        }
    }
}

impl RowsScan<'_> {
    /// Adds the documents of a range to their conversations, in order.
    async fn read_documents(
        &self,
        mut range: KeyRange,
        hashers: &mut BTreeMap<ConversationKey, RowsHasher>,
    ) -> Result<(), ReadModelError> {
        // The namespace and the key after which the first conversation continues; at first after all of it.
        let (_, last) = DocumentNamespace::default().encoded_range();
        let mut after = (last, String::new());
        loop {
            let arguments = || {
                let arguments = bind(bind(range.bind(), after.0.as_str()), after.1.as_str());
                bind(arguments, EVENTS_PER_READ_MAX)
            };
            let rows = self.model.fetch(&SCAN_DOCUMENTS, arguments).await?;
            for row in &rows {
                let hasher = hashers.entry(key_at(row)?).or_default();
                digest_document(&mut hasher.documents, row, 0)?;
            }
            let is_last = i64::try_from(rows.len()).is_ok_and(|rows| rows < EVENTS_PER_READ_MAX);
            let Some(row) = rows.last().filter(|_| !is_last) else {
                return Ok(());
            };
            range = range.after(&key_at(row)?);
            after = (row.try_get("namespace")?, row.try_get("key")?);
        }
    }
}

/// The number of events of the next read, from the rows and bytes of the previous one.
fn fitting(rows: usize, bytes: usize) -> i64 {
    let each = bytes / rows.max(1);
    let fitting = BYTES_PER_READ / each.max(1);
    i64::try_from(fitting).unwrap_or(i64::MAX).clamp(1, EVENTS_PER_READ_MAX)
}

impl RowsHasher {
    fn digest(self) -> RowsDigest {
        RowsDigest { row: self.row, events: self.events.finalize().into(), documents: self.documents.finalize().into() }
    }
}

fn row_digest(row: &PgRow) -> Result<ValueDigest, ReadModelError> {
    let mut digest = Sha256::new();
    let columns = ProjectedConversation::ROW.iter().copied().flatten();
    for (index, column) in columns.enumerate() {
        let value = column_bytes(row, index)?;
        if LARGE_COLUMNS.contains(&column.name) {
            let value = value.map(value_digest);
            digest_cell(&mut digest, value.as_ref().map(ValueDigest::as_slice));
        } else {
            digest_cell(&mut digest, value);
        }
    }
    Ok(digest.finalize().into())
}

/// Whether the row of an event belongs to a conversation.
fn is_of(row: &PgRow, key: &ConversationKey) -> bool {
    let is = |name, text: &str| matches!(column_bytes(row, name), Ok(Some(bytes)) if bytes == text.as_bytes());
    is("conversation_id", key.conversation.as_str()) && is("tenant_id", key.tenant.as_str())
}

fn key_at(row: &PgRow) -> Result<ConversationKey, ReadModelError> {
    parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)
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
