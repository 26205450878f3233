//! Reads a fork whose lineage was read before: everything together, without waiting for the fork point.
//!
//! Most reads need one statement for the rows of the fork and its ancestors, with the events of all.

use std::iter::once;

use domain::{ConversationId, ForkPoint, Version};
use futures::future::{try_join, try_join_all};
use read_model::HeadRow;
use read_model::queries::{
    self, EVENTS_PER_READ_MAX, EventQuery, EventRange, HeadsAndEvents, InheritedQuery, RangesQuery,
};
use wire::status::Problem;

use crate::conversation_read::{Rows, rows};
use crate::known_lineages::KnownLineage;
use crate::lineage_rows::{LineageRows, ancestor_rows, first_own, inherited_in_rows, lineage_rows};
use crate::prefetched::Prefetched;
use crate::range::RowQuery;
use crate::target::{Reader, Target};

/// The rows of a fork whose lineage was read before, and those of its ancestors with their last commits.
pub(crate) async fn known_rows(
    reader: &Reader,
    fork: &Target,
    known: &KnownLineage,
    query: RowQuery<'_>,
) -> Result<(Rows, LineageRows), Problem> {
    let lasts = known.points.iter().map(|point| async { fork.of(point.conversation.clone()).last(reader).await });
    let rows = own_and_lineage_rows(reader, fork, known, query);
    let (lasts, (rows, mut lineage)) = try_join(try_join_all(lasts), rows).await?;
    for ((ancestor, point), last) in lineage.ancestors.iter_mut().zip(&known.points).zip(lasts) {
        ancestor.last = last.filter(|_| ancestor.from == *point);
    }
    Ok((rows, lineage))
}

/// Reads the rows in one statement if the query has inherited events, otherwise in two.
async fn own_and_lineage_rows(
    reader: &Reader,
    fork: &Target,
    known: &KnownLineage,
    query: RowQuery<'_>,
) -> Result<(Rows, LineageRows), Problem> {
    let Some(from) = known.points.first() else {
        let rows = fork.deadline.rows(rows(reader, fork, query));
        return Ok((rows.await?, LineageRows::default()));
    };
    let mut inherited = query.inherited(known.own);
    if inherited.limit == 0 {
        let rows = fork.deadline.rows(rows(reader, fork, query));
        return try_join(rows, lineage_rows(reader, fork, from.clone(), inherited)).await;
    }
    // As many inherited events as the query asks for, and the own ones.
    let own = u32::try_from(known.own).unwrap_or(u32::MAX);
    inherited.limit = inherited.limit.saturating_add(own).min(EVENTS_PER_READ_MAX);
    let ranges = ranges(fork, known, inherited);
    let ranges_query =
        RangesQuery { ranges: &ranges, kinds: inherited.kinds, limit: inherited.limit, bytes_max: inherited.bytes_max };
    let (model, tenant) = (&reader.read_model, &fork.access.tenant);
    let found = fork.deadline.rows(queries::heads_and_events_of_ranges(model, tenant, ranges_query)).await?;
    Ok(split(from, &ranges, found, inherited))
}

/// The versions to read of the fork and of each ancestor. Ranges behind enough versions are empty.
fn ranges(fork: &Target, known: &KnownLineage, query: InheritedQuery<'_>) -> Vec<EventRange> {
    let own = (&fork.key.conversation, EventQuery::OPEN_END);
    let ancestors = known.points.iter().map(|point| (&point.conversation, point.version));
    let (mut last, mut newer) = (query.to, 0_u64);
    let ranges = once(own).chain(ancestors).enumerate().map(|(depth, (conversation, through))| {
        let first = first_own(known.points.get(depth));
        last = last.min(through);
        let is_searched = newer < u64::from(query.limit);
        let count = if depth == 0 { known.own } else { (last.0 + 1).saturating_sub(first.0) };
        newer = newer.saturating_add(count);
        let range = EventRange {
            conversation: conversation.clone(),
            first: first.max(query.from),
            last: if is_searched { last } else { Version::ZERO },
        };
        last = last.min(Version(first.0.saturating_sub(1)));
        range
    });
    ranges.collect()
}

/// Separates the rows of the fork, the first of the ranges, from those of its ancestors.
fn split(
    from: &ForkPoint,
    ranges: &[EventRange],
    mut found: HeadsAndEvents,
    query: InheritedQuery<'_>,
) -> (Rows, LineageRows) {
    let place = |id: &ConversationId| ranges.iter().position(|range| range.conversation == *id);
    found.heads.sort_unstable_by_key(|(id, _)| place(id));
    let Some(itself) = ranges.first() else {
        return (Rows::default(), LineageRows::default());
    };
    let has_row = |(id, _): &(ConversationId, HeadRow)| *id == itself.conversation;
    if !found.heads.first().is_some_and(has_row) {
        return (Rows::default(), LineageRows::default());
    }
    let (_, row) = found.heads.remove(0);
    let ancestors = ancestor_rows(from.clone(), found.heads);
    let first = first_own(Some(from));
    let mut in_rows = inherited_in_rows(&ancestors, query.to.min(from.version));
    let last = query.to.min(row.head.version);
    if first <= last {
        let own = EventRange { first, last, ..itself.clone() };
        in_rows.insert(0, own);
    }
    let mut inherited = Prefetched::inherited(found.events, query, &in_rows);
    let rows = Rows { head_row: Some(row), events: inherited.take_from(first), ..Rows::default() };
    let lineage = LineageRows { ancestors, inherited };
    (rows, lineage)
}
