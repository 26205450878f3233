//! Reads the comparable events of a conversation's effective history.

use domain::{EventKind, Head};
use history::{Bounds, Cursor, Direction, Range, Snapshot, Target, View, decode};
use runtime::http::HttpProblem;

use super::comparable::Comparable;
use super::plan::StoredEvent;
use conversations::assembly::CONTEXT_BYTES_MAX;
use http_listener::state::HttpState;

/// The kinds of events that are compared.
const KINDS: [EventKind; 3] = [EventKind::MessageAppended, EventKind::ToolCalled, EventKind::ToolReturned];

/// Which end of the history to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HistoryEnd {
    /// The oldest events.
    Oldest,
    /// The newest events.
    Newest,
}

/// The comparable events at one end of the history, at most `events_max`, oldest first; `None`: the conversation has changed since
/// this head.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn read(
    state: &HttpState,
    target: &Target,
    head: &Head,
    end: HistoryEnd,
    events_max: usize,
) -> Result<Option<Vec<StoredEvent>>, HttpProblem> {
    let range = Range {
        kinds: &KINDS,
        ..Range::all(match end {
            HistoryEnd::Oldest => Direction::Forward,
            HistoryEnd::Newest => Direction::Backward,
        })
    };
    let batch = Bounds { events_max, bytes_max: CONTEXT_BYTES_MAX };
    let reader = &state.gateway.reader;
    let (snapshot, first) = Snapshot::open_with(reader, target, &range, batch).await?;
    if snapshot.position().version != head.version {
        return Ok(None);
    }
    let effective = snapshot.effective(head.version).await?;
    let cursor = snapshot.cursor_from(range, View::Effective(&effective), first);
    let mut events = collect(cursor, batch).await?;
    if end == HistoryEnd::Newest {
        events.reverse();
    }
    Ok(Some(events))
}

/// The next comparable events of a cursor.
async fn collect(mut cursor: Cursor<'_>, batch: Bounds) -> Result<Vec<StoredEvent>, HttpProblem> {
    let mut events = Vec::new();
    while events.len() < batch.events_max {
        let Some(rows) = cursor.next(batch).await? else {
            break;
        };
        for event in rows {
            let key = cursor.snapshot().key();
            let recorded = decode(key, &event.row)?;
            if let Some(content) = Comparable::of(&recorded.event.fact) {
                let version = recorded.version;
                events.push(StoredEvent { version, content });
            }
        }
    }
    events.truncate(batch.events_max);
    Ok(events)
}
