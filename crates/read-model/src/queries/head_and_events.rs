//! Reads the head of a conversation and a range of its events in one statement: one round trip and one snapshot.
//!
//! This is the fast path of contexts. The index reads the range from its end, so the cost does not grow with the length of
//! the conversation.

use std::sync::LazyLock;

use domain::bounds::EVENT_BYTES_MAX;
use domain::{ConversationId, EventKind, TenantAccess, Version};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::{Encode, Postgres, Row as _, Type};

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

/// The statements of one conversation.
static OF_ONE: LazyLock<Statements> = LazyLock::new(|| Statements::new(str::to_owned));
static FEW_EVENTS: LazyLock<[String; 2]> = LazyLock::new(|| by_direction(include_str!("few_events.sql")));
/// The statements of several conversations. They always count, so that the bytes of all are bounded.
static OF_SEVERAL: LazyLock<Statements> = LazyLock::new(|| Statements::new(of_several));
/// The index of the column with the ordinal of the conversation.
const ORDINALITY: usize = 5;

/// The statements that count bytes in Postgres, by direction.
#[derive(Debug)]
struct Statements {
    events: [String; 2],
    rare_events: [String; 2],
}

impl Statements {
    fn new(derive: impl Fn(&str) -> String) -> Self {
        Self {
            events: by_direction(&derive(include_str!("events.sql"))),
            rare_events: by_direction(&derive(include_str!("rare_events.sql"))),
        }
    }

    /// Most events are messages, so reads of messages or of all kinds scan the range. The other kinds have an index, which
    /// finds a few of them among ten thousand messages.
    fn counting(&self, query: &EventQuery) -> &[String; 2] {
        if is_rare(&query.kinds) { &self.rare_events } else { &self.events }
    }
}

/// The statement of several conversations, from that of one. Its second parameter is an array of ids.
fn of_several(of_one: &str) -> String {
    let of_each = of_one.replace("conversation_id = $2", "conversation_id = of_ids.id");
    include_str!("of_several.sql").replace("{of_each}", &of_each)
}

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
    let side = bytes_are_counted_by(query);
    let statements = match side {
        Side::Reader => &*FEW_EVENTS,
        Side::Postgres => OF_ONE.counting(query),
    };
    let arguments = || arguments(access, id.as_str(), query, side);
    let rows = model.read(access, statement(statements, query), arguments);
    decode(&rows.await?, access, id, query)
}

/// As [`head_and_events`] for several conversations of a tenant, in one statement. The results are in the order of `ids`.
///
/// # Errors
/// As [`head_and_events`]. A row that cannot be decoded is only the error of its conversation.
pub async fn heads_and_events(
    model: &ReadModel,
    access: &TenantAccess,
    ids: &[ConversationId],
    query: &EventQuery,
) -> Result<Vec<Result<Option<(HeadRow, Vec<EventRow>)>, ReadModelError>>, ReadModelError> {
    let texts: Vec<&str> = ids.iter().map(ConversationId::as_str).collect();
    let arguments = || arguments(access, texts.clone(), query, Side::Postgres);
    let statement = statement(OF_SEVERAL.counting(query), query);
    let rows = model.read(access, statement, arguments).await?;
    let mut of_ids = vec![Vec::new(); ids.len()];
    for row in &rows {
        if let Some(of_id) = ordinal(row).and_then(|ordinal| of_ids.get_mut(ordinal)) {
            of_id.push(row);
        }
    }
    let decoded = ids.iter().zip(of_ids).map(|(id, rows)| decode(rows, access, id, query));
    Ok(decoded.collect())
}

/// The index of the conversation of a row.
fn ordinal(row: &PgRow) -> Option<usize> {
    let ordinal: i64 = row.try_get(ORDINALITY).ok()?;
    usize::try_from(ordinal).ok()?.checked_sub(1)
}

/// Decodes the rows of one conversation, in the order of the statement.
fn decode<'r>(
    rows: impl IntoIterator<Item = &'r PgRow>,
    access: &'r TenantAccess,
    id: &'r ConversationId,
    query: &EventQuery,
) -> Result<Option<(HeadRow, Vec<EventRow>)>, ReadModelError> {
    let mut head = None;
    let (mut events, mut bytes) = (Vec::new(), 0);
    for row in rows {
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

fn statement([forward, backward]: &'static [String; 2], query: &EventQuery) -> &'static str {
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
    if is_rare(&query.kinds) || bytes > UNCOUNTED_BYTES_MAX { Side::Postgres } else { Side::Reader }
}

fn length(event: &EventRow) -> u64 {
    u64::try_from(event.bytes.len()).unwrap_or(u64::MAX)
}

/// `ids` is the id of one conversation, or an array of ids.
fn arguments<'q>(
    access: &'q TenantAccess,
    ids: impl Encode<'q, Postgres> + Type<Postgres>,
    query: &EventQuery,
    side: Side,
) -> PgArguments {
    let arguments = arguments![
        access.tenant().as_str(),
        ids,
        signed(query.from.0),
        signed(query.to.0),
        i64::from(query.limit.min(EVENTS_PER_READ_MAX)),
        kind_codes(&query.kinds),
    ];
    match side {
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
