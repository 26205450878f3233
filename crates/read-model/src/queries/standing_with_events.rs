//! Where a conversation stands and a range of its events: one statement, so one round trip and one snapshot.
//!
//! The fast path of contexts. Its cost does not grow with the conversation: the range is read from its end by the index.

use domain::bounds::EVENT_BYTES_MAX;
use domain::{ConversationId, EventKind, TenantAccess, Version};
use sqlx::postgres::PgArguments;

use super::{bind, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::{Columns, EventRow, Standing};

/// Most events of one read.
pub const EVENTS_PER_READ_MAX: u32 = 5_000;
/// A read of so few events that even the largest sum to no more than this, in bytes, leaves the counting of bytes to this
/// side: for Postgres it is a quarter of the read of a context.
const UNCOUNTED_BYTES_MAX: u64 = 32 * 1_024 * 1_024;

/// Which events to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// The first version of the range.
    pub from: Version,
    /// The last version of the range, itself in it; [`EventQuery::TO_THE_END`] for all that there are.
    pub to: Version,
    /// Which way to read the range.
    pub direction: Direction,
    /// Only events of these kinds; empty: of all.
    pub kinds: Vec<EventKind>,
    /// Most events to read; [`EVENTS_PER_READ_MAX`] at most, whatever is asked for.
    pub limit: u32,
    /// The read ends with the event that brings the sum of their bytes to this or past it: a page whose bytes sum to it
    /// may not be all that there is. At most one event's size is read over it; with 0, nothing.
    pub bytes_max: u64,
}

impl EventQuery {
    /// An end of the range that is never reached.
    pub const TO_THE_END: Version = Version(u64::MAX);

    /// The latest `limit` events of all kinds, newest first.
    #[must_use]
    pub fn latest(limit: u32, bytes_max: u64) -> Self {
        Self {
            from: Version::ZERO.next(),
            to: Self::TO_THE_END,
            direction: Direction::Backward,
            kinds: Vec::new(),
            limit,
            bytes_max,
        }
    }
}

/// Which way to read a range of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Oldest first.
    Forward,
    /// Newest first.
    Backward,
}

/// Where the conversation stands and the events that the query asks for, in its direction, as of one moment. An erased
/// conversation comes without events. `None`: no row of the tenant.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn standing_with_events(
    model: &ReadModel,
    access: &TenantAccess,
    id: &ConversationId,
    query: &EventQuery,
) -> Result<Option<(Standing, Vec<EventRow>)>, ReadModelError> {
    let rows = model
        .read(access, statement(query), || arguments(access, id, query))
        .await?;
    let mut standing = None;
    let (mut events, mut bytes) = (Vec::with_capacity(rows.len()), 0);
    for row in &rows {
        let columns = Columns::of(row, access.tenant(), id.as_str());
        match columns.event()? {
            Some(_) if bytes >= query.bytes_max => break,
            Some(event) => {
                bytes += length(&event);
                events.push(event);
            }
            None => standing = Some(columns.standing()?),
        }
    }
    Ok(standing.map(|standing| (standing, events)))
}

/// The events alone; none for a conversation that the tenant does not have.
///
/// # Errors
/// As [`standing_with_events`].
pub async fn events(
    model: &ReadModel,
    access: &TenantAccess,
    id: &ConversationId,
    query: &EventQuery,
) -> Result<Vec<EventRow>, ReadModelError> {
    let found = standing_with_events(model, access, id, query).await?;
    Ok(found.map(|(_, events)| events).unwrap_or_default())
}

/// Messages are most of what there is: to find them, or all kinds, is to walk the range. The other kinds have an index of
/// their own, so that a few among ten thousand messages are found at once.
fn statement(query: &EventQuery) -> &'static str {
    match (
        is_rare(&query.kinds),
        bytes_are_counted_by(query),
        query.direction,
    ) {
        (false, Side::Reader, Direction::Forward) => include_str!("few_events_forward.sql"),
        (false, Side::Reader, Direction::Backward) => include_str!("few_events_backward.sql"),
        (false, Side::Postgres, Direction::Forward) => include_str!("events_forward.sql"),
        (false, Side::Postgres, Direction::Backward) => include_str!("events_backward.sql"),
        (true, _, Direction::Forward) => include_str!("rare_events_forward.sql"),
        (true, _, Direction::Backward) => include_str!("rare_events_backward.sql"),
    }
}

/// Whether events of these kinds are found by an index of their own; none named: of all kinds.
#[must_use]
pub fn is_rare(kinds: &[EventKind]) -> bool {
    !kinds.is_empty() && !kinds.contains(&EventKind::MessageAppended)
}

/// Who ends a read at [`EventQuery::bytes_max`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Postgres,
    Reader,
}

/// A read is bounded by Postgres unless it is of few events, see [`UNCOUNTED_BYTES_MAX`].
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
    let mut kinds: Vec<i16> = query.kinds.iter().map(|kind| kind.code()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let arguments = bind(PgArguments::default(), access.tenant().as_str());
    let arguments = bind(arguments, id.as_str());
    let arguments = bind(arguments, signed(query.from.0));
    let arguments = bind(arguments, signed(query.to.0));
    let arguments = bind(arguments, i64::from(query.limit.min(EVENTS_PER_READ_MAX)));
    let arguments = bind(arguments, (!kinds.is_empty()).then_some(kinds));
    match bytes_are_counted_by(query) {
        Side::Postgres => bind(arguments, signed(query.bytes_max)),
        Side::Reader => arguments,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_few_events_are_counted_by_their_reader() {
        check(64, &[], Side::Reader);
        check(65, &[], Side::Postgres);
        check(64, &[EventKind::MessageAppended], Side::Reader);
        check(1, &[EventKind::ToolCalled], Side::Postgres);
    }

    fn check(limit: u32, kinds: &[EventKind], expected: Side) {
        let query = EventQuery {
            from: Version(1),
            to: EventQuery::TO_THE_END,
            direction: Direction::Backward,
            kinds: kinds.to_vec(),
            limit,
            bytes_max: 1,
        };
        assert_eq!(bytes_are_counted_by(&query), expected, "{limit} {kinds:?}");
    }
}
