//! Reads the head of a conversation and a range of its events in one statement: one round trip and one snapshot.
//!
//! This is the fast path of contexts. The index reads the range from its end, so the cost does not grow with the length of
//! the conversation.

use std::sync::LazyLock;

use domain::bounds::EVENT_BYTES_MAX;
use domain::{ConversationId, EventKind, TenantAccess, Version};
use sqlx::postgres::PgArguments;

use super::statements::by_direction;
use crate::arguments::{arguments, bind, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::{Columns, EventRow, HeadRow};

/// Maximum number of events of one read.
pub const EVENTS_PER_READ_MAX: u32 = 5_000;
/// If the requested number of events cannot exceed this many bytes, the reader counts the bytes. In Postgres, counting takes a
/// quarter of the time of a context read.
const UNCOUNTED_BYTES_MAX: u64 = 32 * 1_024 * 1_024;

static EVENTS: LazyLock<[String; 2]> = LazyLock::new(|| by_direction(include_str!("events.sql")));
static FEW_EVENTS: LazyLock<[String; 2]> =
    LazyLock::new(|| by_direction(include_str!("few_events.sql")));
static RARE_EVENTS: LazyLock<[String; 2]> =
    LazyLock::new(|| by_direction(include_str!("rare_events.sql")));

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// The first version of the range.
    pub from: Version,
    /// The last version of the range, inclusive; [`EventQuery::OPEN_END`] for no bound.
    pub to: Version,
    /// The direction of the read.
    pub direction: Direction,
    /// Only events of these kinds; empty: all kinds.
    pub kinds: Vec<EventKind>,
    /// Maximum number of events, capped at [`EVENTS_PER_READ_MAX`].
    pub limit: u32,
    /// The read ends with the event whose bytes make the sum reach this limit. So a page that reaches it may be incomplete,
    /// and it exceeds the limit by less than one event. With 0, no event is read.
    pub bytes_max: u64,
}

impl EventQuery {
    /// No upper bound.
    pub const OPEN_END: Version = Version(u64::MAX);

    /// The last `limit` events of all kinds, newest first.
    #[must_use]
    pub fn latest(limit: u32, bytes_max: u64) -> Self {
        Self {
            from: Version::ZERO.next(),
            to: Self::OPEN_END,
            direction: Direction::Backward,
            kinds: Vec::new(),
            limit,
            bytes_max,
        }
    }
}

/// The direction of a read of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Oldest first.
    Forward,
    /// Newest first.
    Backward,
}

/// The head of the conversation and the events that match the query, in its direction, in one snapshot. An erased conversation
/// has no events. `None`: the tenant has no such row.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn head_and_events(
    model: &ReadModel,
    access: &TenantAccess,
    id: &ConversationId,
    query: &EventQuery,
) -> Result<Option<(HeadRow, Vec<EventRow>)>, ReadModelError> {
    let rows = model
        .read(access, statement(query), || arguments(access, id, query))
        .await?;
    let mut head = None;
    let (mut events, mut bytes) = (Vec::with_capacity(rows.len()), 0);
    for row in &rows {
        let columns = Columns::new(row, access.tenant(), id.as_str());
        match columns.event()? {
            Some(_) if bytes >= query.bytes_max => break,
            Some(event) => {
                bytes += length(&event);
                events.push(event);
            }
            None => head = Some(columns.head_row()?),
        }
    }
    Ok(head.map(|head| (head, events)))
}

/// Only the events; none if the tenant has no such conversation.
///
/// # Errors
/// As [`head_and_events`].
pub async fn events(
    model: &ReadModel,
    access: &TenantAccess,
    id: &ConversationId,
    query: &EventQuery,
) -> Result<Vec<EventRow>, ReadModelError> {
    let found = head_and_events(model, access, id, query).await?;
    Ok(found.map(|(_, events)| events).unwrap_or_default())
}

/// Most events are messages, so reads of messages or of all kinds scan the range. The other kinds have an index, which finds a
/// few of them among ten thousand messages.
fn statement(query: &EventQuery) -> &'static str {
    let statements = match (is_rare(&query.kinds), bytes_are_counted_by(query)) {
        (false, Side::Reader) => &FEW_EVENTS,
        (false, Side::Postgres) => &EVENTS,
        (true, _) => &RARE_EVENTS,
    };
    let [forward, backward] = &**statements;
    match query.direction {
        Direction::Forward => forward,
        Direction::Backward => backward,
    }
}

/// Whether the index of rare kinds covers these kinds; empty: all kinds.
#[must_use]
pub fn is_rare(kinds: &[EventKind]) -> bool {
    !kinds.is_empty() && !kinds.contains(&EventKind::MessageAppended)
}

/// The side that applies [`EventQuery::bytes_max`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Postgres,
    Reader,
}

/// Postgres applies the bound, except for reads of few events: see [`UNCOUNTED_BYTES_MAX`].
fn bytes_are_counted_by(query: &EventQuery) -> Side {
    let largest = u64::try_from(EVENT_BYTES_MAX).unwrap_or(u64::MAX);
    let bytes = u64::from(query.limit).saturating_mul(largest);
    if is_rare(&query.kinds) || bytes > UNCOUNTED_BYTES_MAX {
        Side::Postgres
    } else {
        Side::Reader
    }
}

fn length(event: &EventRow) -> u64 {
    u64::try_from(event.bytes.len()).unwrap_or(u64::MAX)
}

fn arguments(access: &TenantAccess, id: &ConversationId, query: &EventQuery) -> PgArguments {
    let arguments = arguments![
        access.tenant().as_str(),
        id.as_str(),
        signed(query.from.0),
        signed(query.to.0),
        i64::from(query.limit.min(EVENTS_PER_READ_MAX)),
        kind_codes(&query.kinds),
    ];
    match bytes_are_counted_by(query) {
        Side::Postgres => bind(arguments, signed(query.bytes_max)),
        Side::Reader => arguments,
    }
}

/// The codes of kinds, sorted; `None`: all kinds.
pub(super) fn kind_codes(kinds: &[EventKind]) -> Option<Vec<i16>> {
    let mut codes: Vec<i16> = kinds.iter().map(|kind| kind.code()).collect();
    codes.sort_unstable();
    codes.dedup();
    (!codes.is_empty()).then_some(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reader_counts_the_bytes_of_few_events() {
        check(64, &[], Side::Reader);
        check(65, &[], Side::Postgres);
        check(64, &[EventKind::MessageAppended], Side::Reader);
        check(1, &[EventKind::ToolCalled], Side::Postgres);
    }

    fn check(limit: u32, kinds: &[EventKind], expected: Side) {
        let query = EventQuery {
            from: Version(1),
            to: EventQuery::OPEN_END,
            direction: Direction::Backward,
            kinds: kinds.to_vec(),
            limit,
            bytes_max: 1,
        };
        assert_eq!(bytes_are_counted_by(&query), expected, "{limit} {kinds:?}");
    }
}
