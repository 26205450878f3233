//! Events of several ranges, which may be of several conversations: one statement, newest first.
//!
//! The ranges are segments of one history, so versions are unique among them.

use domain::{ConversationId, EventKind, Status, TenantAccess, Version};
use sqlx::postgres::PgArguments;

use super::standing_with_events::is_rare;
use super::{EVENTS_PER_READ_MAX, bind, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::{Columns, EventRow, Standing};

/// A range of versions of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRange {
    /// The conversation.
    pub conversation: ConversationId,
    /// The first version.
    pub first: Version,
    /// The last version.
    pub last: Version,
}

/// Which events of some ranges to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangesQuery<'a> {
    /// The ranges; none overlaps another.
    pub ranges: &'a [EventRange],
    /// Only events of these kinds; empty: of all.
    pub kinds: &'a [EventKind],
    /// Most events to read; [`EVENTS_PER_READ_MAX`] at most.
    pub limit: u32,
    /// The read ends with the event that brings the sum of their bytes to this or past it.
    pub bytes_max: u64,
}

/// The newest events of some ranges, newest first. `None`: a conversation among them was erased, or has no row.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn events_of_ranges(
    model: &ReadModel,
    access: &TenantAccess,
    query: RangesQuery<'_>,
) -> Result<Option<Vec<EventRow>>, ReadModelError> {
    let sql = if is_rare(query.kinds) {
        include_str!("rare_events_of_ranges.sql")
    } else {
        include_str!("events_of_ranges.sql")
    };
    let rows = model.read(access, sql, || arguments(access, query)).await?;
    let mut events = Vec::with_capacity(rows.len());
    let mut found: Vec<(ConversationId, Standing)> = Vec::new();
    for row in &rows {
        let columns = Columns::of(row, access.tenant(), "");
        let id: &str = columns.get(5, "conversation_id")?;
        let columns = Columns::of(row, access.tenant(), id);
        if let Some(event) = columns.event()? {
            events.push(event);
            continue;
        }
        let id = ConversationId::parse(id).map_err(|_| columns.corrupt("conversation_id"))?;
        found.push((id, columns.standing()?));
    }
    let is_there = |range: &EventRange| {
        found.iter().any(|(id, standing)| {
            *id == range.conversation && standing.head.status != Status::Erased
        })
    };
    Ok(query.ranges.iter().all(is_there).then_some(events))
}

fn arguments(access: &TenantAccess, query: RangesQuery<'_>) -> PgArguments {
    let ids: Vec<&str> = query
        .ranges
        .iter()
        .map(|range| range.conversation.as_str())
        .collect();
    let firsts = query.ranges.iter().map(|range| signed(range.first.0));
    let lasts = query.ranges.iter().map(|range| signed(range.last.0));
    let mut kinds: Vec<i16> = query.kinds.iter().map(|kind| kind.code()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let arguments = bind(PgArguments::default(), access.tenant().as_str());
    let arguments = bind(arguments, ids);
    let arguments = bind(arguments, firsts.collect::<Vec<_>>());
    let arguments = bind(arguments, lasts.collect::<Vec<_>>());
    let arguments = bind(arguments, i64::from(query.limit.min(EVENTS_PER_READ_MAX)));
    let arguments = bind(arguments, (!kinds.is_empty()).then_some(kinds));
    bind(arguments, signed(query.bytes_max))
}
