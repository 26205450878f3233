//! Converts events of commits to rows, and rows to events of the domain.

use domain::{ConversationKey, RecordedEvent};
use event_log::StoredCommit;
use read_model::EventRow;
use wire::status::Problem;

use crate::problem;

/// The events of a commit in the form of rows.
pub fn event_rows(commit: &StoredCommit) -> impl Iterator<Item = EventRow> {
    let (opened, head) = (&commit.opened, &commit.opened.commit);
    let bytes = opened.event_bytes.iter().enumerate();
    bytes.map(|(index, bytes)| EventRow {
        version: head.first_version.plus(index),
        commit: head.id,
        recorded_at: head.recorded_at,
        bytes: bytes.clone(),
    })
}

/// Decodes an event.
///
/// # Errors
/// `DATA_CORRUPT`: the bytes are not an event.
pub fn decode(key: &ConversationKey, row: &EventRow) -> Result<RecordedEvent, Problem> {
    let event = wire::commit::decode_event(row.bytes.clone()).map_err(|corrupt| {
        problem::of_contradiction(format!(
            "event {} of conversation {} is corrupt: {corrupt}",
            row.version, key.conversation
        ))
    })?;
    Ok(RecordedEvent { version: row.version, commit: row.commit, recorded_at: row.recorded_at, event })
}

pub(crate) fn size_bytes(event: &EventRow) -> u64 {
    u64::try_from(event.bytes.len()).unwrap_or(u64::MAX)
}
