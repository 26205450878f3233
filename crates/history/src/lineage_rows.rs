//! The rows of a fork's ancestors, and the inherited events in rows.
//!
//! A read of a fork asks for the rows of its ancestors as soon as the record has answered with the fork point.

use domain::{ConversationId, ForkPoint, Inherited, Version};
use event_log::StoredMessage;
use read_model::queries::{self, EventRange, RangesQuery, is_rare};
use read_model::{EventRow, HeadRow};
use wire::status::Problem;

use crate::problem;
use crate::query::{Batch, Direction, Query, RANGES_PER_READ_MAX};
use crate::target::{Reader, Target};

/// The fork points of a lineage, the nearest first, with the rows of their conversations. Only the last can be without a row.
pub(crate) type LineageRows = Vec<(ForkPoint, Option<HeadRow>)>;

/// Reads the fork points from `from` on that have rows, and the first without a row, in one statement.
pub(crate) async fn lineage_rows(
    reader: &Reader,
    fork: &Target,
    from: ForkPoint,
) -> Result<LineageRows, Problem> {
    let rows = queries::lineage(&reader.read_model, &fork.access.tenant, &from.conversation);
    let rows = fork.deadline.rows(rows).await?;
    let (mut lineage, mut next) = (Vec::with_capacity(rows.len()), Some(from));
    let mut rows = rows.into_iter();
    while let Some(point) = next {
        let row = rows.next().filter(|(id, _)| *id == point.conversation);
        let row = row.map(|(_, row)| row);
        next = row.as_ref().and_then(|row| row.head.forked_from.clone());
        lineage.push((point, row));
    }
    Ok(lineage)
}

/// The lineage of a conversation with this last commit; empty if it is not a fork.
pub(crate) async fn lineage_rows_of(
    reader: &Reader,
    target: &Target,
    last: Option<&StoredMessage>,
) -> Result<LineageRows, Problem> {
    let head = last.map(StoredMessage::open_head).transpose();
    let head = head.map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    match head.and_then(|head| head.forked_from) {
        // Boxed, to keep the future small: few conversations are forks.
        Some(from) => Box::pin(lineage_rows(reader, target, from)).await,
        None => Ok(Vec::new()),
    }
}

/// The inherited versions of the nearest ancestors whose rows contain them, the newest first; `last` limits the first one.
pub(crate) fn inherited_in_rows(lineage: &LineageRows, mut last: Version) -> Vec<EventRange> {
    let mut ranges = Vec::with_capacity(lineage.len());
    for (point, row) in lineage {
        let Some(row) = row else { break };
        let inherited = Inherited {
            first: first_own(row.head.forked_from.as_ref()),
            last: last.min(point.version),
            tokens_through: 0,
        };
        last = before(inherited);
        if inherited.first > inherited.last {
            continue;
        }
        if inherited.last > row.head.version {
            break;
        }
        ranges.push(EventRange {
            conversation: point.conversation.clone(),
            first: inherited.first,
            last: inherited.last,
        });
    }
    ranges
}

/// The ranges of a query that reads backward, as many as one statement reads: enough to fill the batch, unless the events are
/// rare.
pub(crate) fn ranges_of_batch(
    query: &Query<'_>,
    ranges: &[EventRange],
    batch: Batch,
) -> Vec<EventRange> {
    if query.direction == Direction::Forward || batch.events_max == 0 || batch.bytes_max == 0 {
        return Vec::new();
    }
    let enough = u64::try_from(batch.events_max).unwrap_or(u64::MAX);
    let mut versions = 0_u64;
    let clipped = ranges.iter().map(|range| EventRange {
        first: range.first.max(query.from),
        last: range.last.min(query.to),
        ..range.clone()
    });
    let ranges = clipped.filter(|range| range.first <= range.last);
    let ranges = ranges.take_while(|range| {
        let is_needed = versions < enough || is_rare(query.kinds);
        versions = versions.saturating_add(range.last.0 - range.first.0 + 1);
        is_needed
    });
    ranges.take(RANGES_PER_READ_MAX).collect()
}

/// Reads events of ranges in one statement, newest first.
///
/// # Errors
/// One of the conversations was erased, or the read model does not answer.
pub(crate) async fn read_ranges(
    reader: &Reader,
    target: &Target,
    query: RangesQuery<'_>,
) -> Result<Vec<EventRow>, Problem> {
    if query.ranges.is_empty() {
        return Ok(Vec::new());
    }
    let found = queries::events_of_ranges(&reader.read_model, &target.access.tenant, query);
    let found = target.deadline.rows(found).await?;
    found.ok_or_else(problem::not_found)
}

/// Reads the events of single versions in one statement.
///
/// # Errors
/// As [`read_ranges`].
pub(crate) async fn read_versions(
    reader: &Reader,
    target: &Target,
    versions: impl Iterator<Item = (ConversationId, Version)>,
) -> Result<Vec<EventRow>, Problem> {
    let ranges = versions.map(|(conversation, version)| EventRange {
        conversation,
        first: version,
        last: version,
    });
    let ranges: Vec<EventRange> = ranges.collect();
    let query = RangesQuery {
        limit: u32::try_from(ranges.len()).unwrap_or(u32::MAX),
        ranges: &ranges,
        kinds: &[],
        bytes_max: u64::MAX,
    };
    read_ranges(reader, target, query).await
}

/// The first version that a conversation recorded itself.
pub(crate) fn first_own(forked_from: Option<&ForkPoint>) -> Version {
    let parent = forked_from.map_or(Version::ZERO, |parent| parent.version);
    parent.next()
}

/// The last version before the inherited ones.
pub(crate) fn before(inherited: Inherited) -> Version {
    inherited
        .last
        .min(Version(inherited.first.0.saturating_sub(1)))
}
