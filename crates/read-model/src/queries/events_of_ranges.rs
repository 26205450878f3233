//! Reads events of several ranges, also of several conversations, in one statement, newest first.
//!
//! The ranges are segments of one history, so versions are unique among them.

use domain::{ConversationId, EventKind, Status, TenantAccess, Version};
use sqlx::postgres::{PgArguments, PgRow};

use super::EVENTS_PER_READ_MAX;
use super::head_and_events::{is_rare, kind_codes};
use crate::arguments::{arguments, signed};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::{Columns, EventRow, HeadRow};

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
    /// The ranges, which do not overlap.
    pub ranges: &'a [EventRange],
    /// Only events of these kinds; empty: all kinds.
    pub kinds: &'a [EventKind],
    /// Maximum number of events, capped at [`EVENTS_PER_READ_MAX`].
    pub limit: u32,
    /// The read ends with the event whose bytes make the sum reach this limit.
    pub bytes_max: u64,
}

/// Heads of conversations, and events of their history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeadsAndEvents {
    /// The conversations that have a row.
    pub heads: Vec<(ConversationId, HeadRow)>,
    /// The events, newest first.
    pub events: Vec<EventRow>,
}

impl HeadsAndEvents {
    /// Decodes rows with the columns of [`head_and_events`](super::head_and_events()) and the conversation's id.
    pub(super) fn from_rows(rows: &[PgRow], access: &TenantAccess) -> Result<Self, ReadModelError> {
        let mut found = Self::default();
        for row in rows {
            let columns = Columns::new(row, access.tenant(), "");
            let id: &str = columns.get(5, "conversation_id")?;
            let columns = Columns::new(row, access.tenant(), id);
            if let Some(event) = columns.event()? {
                found.events.push(event);
            } else {
                let id = ConversationId::parse(id).map_err(|_| columns.corrupt("conversation_id"))?;
                found.heads.push((id, columns.head_row()?));
            }
        }
        Ok(found)
    }
}

/// The newest events of the ranges, and the heads of their conversations, in no order. An empty range only reads the head. An
/// erased conversation has no events.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn heads_and_events_of_ranges(
    model: &ReadModel,
    access: &TenantAccess,
    query: RangesQuery<'_>,
) -> Result<HeadsAndEvents, ReadModelError> {
    let sql = if is_rare(query.kinds) {
        include_str!("rare_events_of_ranges.sql")
    } else {
        include_str!("events_of_ranges.sql")
    };
    let rows = model.read(access, sql, || arguments(access, query)).await?;
    HeadsAndEvents::from_rows(&rows, access)
}

/// Only the events. `None`: one of the conversations is erased or has no row.
///
/// # Errors
/// As [`heads_and_events_of_ranges`].
pub async fn events_of_ranges(
    model: &ReadModel,
    access: &TenantAccess,
    query: RangesQuery<'_>,
) -> Result<Option<Vec<EventRow>>, ReadModelError> {
    let HeadsAndEvents { heads, events } = heads_and_events_of_ranges(model, access, query).await?;
    let is_readable = |range: &EventRange| {
        let head = heads.iter().find(|(id, _)| *id == range.conversation);
        head.is_some_and(|(_, row)| row.head.status != Status::Erased)
    };
    Ok(query.ranges.iter().all(is_readable).then_some(events))
}

fn arguments(access: &TenantAccess, query: RangesQuery<'_>) -> PgArguments {
    let ranges = query.ranges.iter();
    let ids: Vec<&str> = ranges.clone().map(|range| range.conversation.as_str()).collect();
    let bounds = ranges.map(|range| (signed(range.first.0), signed(range.last.0)));
    let (firsts, lasts): (Vec<i64>, Vec<i64>) = bounds.unzip();
    arguments![
        access.tenant().as_str(),
        ids,
        firsts,
        lasts,
        i64::from(query.limit.min(EVENTS_PER_READ_MAX)),
        kind_codes(query.kinds),
        signed(query.bytes_max),
    ]
}
