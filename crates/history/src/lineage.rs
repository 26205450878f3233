//! The ancestors of a fork, read concurrently.
//!
//! One statement reads their rows and the first inherited events of a query. Then the last commit of each is read concurrently
//! from the record, because an erased ancestor makes the fork unreadable at once; meanwhile another statement reads the
//! events of the other fork points, for their token counts. An ancestor without a row is read by itself.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ConversationId, ForkPoint, Inherited, Version};
use futures::future::{try_join, try_join_all};
use read_model::EventRow;
use read_model::queries::InheritedQuery;
use wire::status::Problem;

use crate::consistency;
use crate::conversation_read::{ConversationRead, Rows};
use crate::event::{decode, event_rows};
use crate::lineage_rows::{
    AncestorRow, LineageRows, before, first_own, inherited_in_rows, lineage_rows, read_versions,
};
use crate::position::CommitPosition;
use crate::prefetched::Prefetched;
use crate::problem;
use crate::target::{Reader, Target};

/// A conversation from which a fork inherits events.
#[derive(Debug)]
pub(crate) struct Ancestor {
    /// The fork point at which the nearer conversation begins.
    pub(crate) from: ForkPoint,
    pub(crate) target: Target,
    pub(crate) read: ConversationRead,
    pub(crate) inherited: Inherited,
}

impl Ancestor {
    /// Whether the conversation has a summary of its own.
    pub(crate) fn has_summary(&self) -> bool {
        let head = self.read.head();
        head.is_some_and(|head| head.latest_summary.is_some())
    }

    pub(crate) fn is_rewound(&self) -> bool {
        let head = self.read.head();
        head.is_some_and(|head| head.latest_rewind.is_some())
    }
}

/// Reads the ancestors of a fork with the fork point `from`, the nearest first.
///
/// # Errors
/// An ancestor was erased, or a dependency does not answer.
pub(crate) async fn read(reader: &Reader, fork: &Target, from: &ForkPoint) -> Result<Vec<Ancestor>, Problem> {
    let (rows, query) = (LineageRows::default(), InheritedQuery::default());
    let (ancestors, _) = read_with(reader, fork, from.clone(), rows, query).await?;
    Ok(ancestors)
}

/// Like [`read`], with the rows that were read before, if any, and with the first inherited events of a query.
///
/// # Errors
/// As [`read`].
pub(crate) async fn read_with(
    reader: &Reader,
    fork: &Target,
    from: ForkPoint,
    mut rows: LineageRows,
    mut query: InheritedQuery<'_>,
) -> Result<(Vec<Ancestor>, Prefetched), Problem> {
    let (mut ancestors, mut fork_points) = (Vec::<Ancestor>::new(), Vec::new());
    let mut prefetched = Prefetched::default();
    let mut next = Some(from);
    while let Some(from) = next {
        if rows.ancestors.is_empty() {
            rows = lineage_rows(reader, fork, from, query).await?;
        }
        // The events behind an ancestor without a row are not prefetched.
        query = InheritedQuery::default();
        let LineageRows { ancestors: found, inherited } = std::mem::take(&mut rows);
        let depth = u32::try_from(ancestors.len() + found.len()).unwrap_or(u32::MAX);
        if depth > FORK_DEPTH_MAX {
            return Err(contradiction(fork));
        }
        prefetched.append(inherited);
        let in_rows = inherited_in_rows(&found, last_inherited(&ancestors)).into_iter();
        let keys =
            in_rows.filter(|range| prefetched.find(range.last).is_none()).map(|range| (range.conversation, range.last));
        let others = read_versions(reader, fork, keys);
        let reads = found.into_iter().map(|one| ancestor(reader, fork, one));
        let (reads, others) = try_join(try_join_all(reads), others).await?;
        ancestors.extend(reads);
        fork_points.extend(others);
        inherit(&mut ancestors);
        let last = ancestors.last().and_then(|last| last.read.forked_from());
        next = last.cloned();
    }
    count_tokens(reader, fork, &mut ancestors, fork_points, &prefetched).await?;
    Ok((ancestors, prefetched))
}

/// Reads one ancestor. It contains at least the version of the fork point: it did when the fork was recorded.
async fn ancestor(reader: &Reader, fork: &Target, found: AncestorRow) -> Result<Ancestor, Problem> {
    let AncestorRow { from, row, last } = found;
    let target = fork.of(from.conversation.clone());
    let rows = Rows { head_row: row, ..Rows::default() };
    let mut read = consistency::read_with(reader, &target, rows, last).await?;
    if read.position.version < from.version {
        let leader = reader.archive.last_commit(&target.key);
        if let Some(message) = target.deadline.record(leader).await? {
            read = read.with_last(&message)?;
        }
    }
    read.check_visible(&target.access.agent)?;
    if read.position.version < from.version {
        return Err(contradiction(&target));
    }
    Ok(Ancestor {
        inherited: Inherited { first: first_own(read.forked_from()), last: from.version, tokens_through: 0 },
        from,
        target,
        read,
    })
}

/// Limits the inherited versions of each ancestor to those of the nearer one.
fn inherit(ancestors: &mut [Ancestor]) {
    let mut last = Version(u64::MAX);
    for ancestor in ancestors {
        let inherited = &mut ancestor.inherited;
        inherited.last = last.min(inherited.last);
        last = before(*inherited);
    }
}

/// The last version that the next ancestor can contribute.
fn last_inherited(ancestors: &[Ancestor]) -> Version {
    let farthest = ancestors.last();
    farthest.map_or(Version(u64::MAX), |farthest| before(farthest.inherited))
}

/// Sets the token count of each ancestor at its last inherited version. `events` and `prefetched` contain those that were read;
/// the others are in tails, or in rows that are newer than those of the lineage.
async fn count_tokens(
    reader: &Reader,
    fork: &Target,
    ancestors: &mut [Ancestor],
    mut events: Vec<EventRow>,
    prefetched: &Prefetched,
) -> Result<(), Problem> {
    let find = |events: &[EventRow], version: Version| {
        let mut events = events.iter();
        let found = events.find(|event| event.version == version);
        found.or_else(|| prefetched.find(version)).cloned()
    };
    let newer: Vec<(ConversationId, Version)> = ancestors
        .iter()
        .filter(|one| {
            let Inherited { first, last, .. } = one.inherited;
            let is_in_rows = first <= last && last <= one.read.row_position().version;
            is_in_rows && find(&events, last).is_none()
        })
        .map(|one| (one.target.key.conversation.clone(), one.inherited.last))
        .collect();
    events.extend(read_versions(reader, fork, newer.into_iter()).await?);
    for ancestor in ancestors {
        let inherited = ancestor.inherited;
        if inherited.first > inherited.last {
            continue;
        }
        let row = match find(&events, inherited.last) {
            Some(row) => row,
            None => last_of_tail(reader, ancestor).await?,
        };
        let event = decode(&ancestor.target.key, &row)?;
        ancestor.inherited.tokens_through = event.event.tokens.through;
    }
    Ok(())
}

/// The last inherited event of an ancestor, from its tail.
async fn last_of_tail(reader: &Reader, ancestor: &Ancestor) -> Result<EventRow, Problem> {
    let target = &ancestor.target;
    let mut tail = ancestor.read.tail(target, CommitPosition::default()).ok_or_else(|| contradiction(target))?;
    while let Some(commits) = tail.next_page(reader, target.deadline).await? {
        let mut events = commits.iter().flat_map(|commit| event_rows(commit));
        if let Some(event) = events.find(|event| event.version == ancestor.inherited.last) {
            return Ok(event);
        }
    }
    Err(contradiction(target))
}

fn contradiction(target: &Target) -> Problem {
    problem::of_contradiction(format!("conversation {} lacks the version of a fork point", target.key.conversation))
}
