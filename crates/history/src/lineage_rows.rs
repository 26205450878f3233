//! The rows of a fork's ancestors, and the inherited events in rows.
//!
//! A read of a fork asks for both, in one statement, as soon as the record has answered with the fork point.

use domain::{ConversationId, ForkPoint, Inherited, Version};
use event_log::StoredMessage;
use read_model::queries::{self, EventRange, InheritedQuery, RangesQuery};
use read_model::{EventRow, HeadRow};
use wire::status::Problem;

use crate::prefetched::Prefetched;
use crate::problem;
use crate::range::RowQuery;
use crate::target::{Reader, Target};

/// The ancestors of a fork according to the rows, and the first inherited events of a query.
#[derive(Debug, Default)]
pub(crate) struct LineageRows {
    /// The nearest first. Only the last can be without a row.
    pub(crate) ancestors: Vec<AncestorRow>,
    pub(crate) inherited: Prefetched,
}

/// An ancestor of a fork.
#[derive(Debug)]
pub(crate) struct AncestorRow {
    pub(crate) from: ForkPoint,
    pub(crate) row: Option<HeadRow>,
    /// Its last commit, if that was read early.
    pub(crate) last: Option<StoredMessage>,
}

/// Reads the rows of the ancestors from the fork point `from` on, and inherited events, in one statement.
pub(crate) async fn lineage_rows(
    reader: &Reader,
    fork: &Target,
    from: ForkPoint,
    query: InheritedQuery<'_>,
) -> Result<LineageRows, Problem> {
    let rows = fork.deadline.rows(queries::lineage(&reader.read_model, &fork.access.tenant, &from, query)).await?;
    let ancestors = ancestor_rows(from, rows.heads);
    let in_rows = inherited_in_rows(&ancestors, query.to);
    Ok(LineageRows { inherited: Prefetched::inherited(rows.events, query, &in_rows), ancestors })
}

/// The conversations from the fork point `from` on that have rows, and the first without a row. `heads` are in this order.
pub(crate) fn ancestor_rows(from: ForkPoint, heads: Vec<(ConversationId, HeadRow)>) -> Vec<AncestorRow> {
    let mut ancestors = Vec::with_capacity(heads.len() + 1);
    let (mut heads, mut next) = (heads.into_iter(), Some(from));
    while let Some(from) = next {
        let row = heads.next().filter(|(id, _)| *id == from.conversation).map(|(_, row)| row);
        next = row.as_ref().and_then(|row| row.head.forked_from.clone());
        ancestors.push(AncestorRow { from, row, last: None });
    }
    ancestors
}

/// The lineage of a conversation with this last commit; empty if it is not a fork.
pub(crate) async fn lineage_rows_of(
    reader: &Reader,
    target: &Target,
    last: Option<&StoredMessage>,
    query: RowQuery<'_>,
) -> Result<LineageRows, Problem> {
    let head = last.map(StoredMessage::open_head).transpose().map_err(|corrupt| problem::of_corrupt(&corrupt))?;
    let fork = head.and_then(|head| Some((head.forked_from.clone()?, head.own_versions())));
    let Some((from, own)) = fork else {
        return Ok(LineageRows::default());
    };
    // Boxed, to keep the future small: few conversations are forks.
    Box::pin(lineage_rows(reader, target, from, query.inherited(own))).await
}

/// The inherited versions of the nearest ancestors whose rows contain them, the newest first; `last` limits the first one.
pub(crate) fn inherited_in_rows(ancestors: &[AncestorRow], mut last: Version) -> Vec<EventRange> {
    let mut ranges = Vec::with_capacity(ancestors.len());
    for AncestorRow { from, row, .. } in ancestors {
        let Some(row) = row else { break };
        let inherited = Inherited {
            first: first_own(row.head.forked_from.as_ref()),
            last: last.min(from.version),
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
            conversation: from.conversation.clone(),
            first: inherited.first,
            last: inherited.last,
        });
    }
    ranges
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
    let found =
        target.deadline.rows(queries::events_of_ranges(&reader.read_model, &target.access.tenant, query)).await?;
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
    let ranges: Vec<EventRange> =
        versions.map(|(conversation, version)| EventRange { conversation, first: version, last: version }).collect();
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
    inherited.last.min(Version(inherited.first.0.saturating_sub(1)))
}
