//! The ancestors of a fork, read concurrently.
//!
//! One statement reads their rows. Then the last commit of each is read concurrently from the record, because an erased
//! ancestor makes the fork unreadable at once; meanwhile another statement reads the events of the fork points, for their token
//! counts. An ancestor without a row is read by itself.

use domain::bounds::FORK_DEPTH_MAX;
use domain::{ConversationId, ConversationKey, ForkPoint, Inherited, Version};
use futures::future::{try_join, try_join_all};
use read_model::queries::{self, EventRange, RangesQuery};
use read_model::{EventRow, HeadRow};
use wire::status::Problem;

use crate::consistency;
use crate::conversation_read::{ConversationRead, Rows};
use crate::event::{decode, event_rows};
use crate::position::CommitPosition;
use crate::problem;
use crate::target::{Reader, Target};

/// A conversation from which a fork inherits events.
#[derive(Debug)]
pub(crate) struct Ancestor {
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
pub(crate) async fn read(
    reader: &Reader,
    fork: &Target,
    from: &ForkPoint,
) -> Result<Vec<Ancestor>, Problem> {
    let (mut ancestors, mut events) = (Vec::<Ancestor>::new(), Vec::new());
    let mut next = Some(from.clone());
    while let Some(from) = next {
        let known = known(reader, fork, from).await?;
        let depth = u32::try_from(ancestors.len() + known.len()).unwrap_or(u32::MAX);
        if depth > FORK_DEPTH_MAX {
            return Err(contradiction(fork));
        }
        let fork_points = fork_points_in_rows(&known, last_inherited(&ancestors));
        let reads = known
            .into_iter()
            .map(|(point, row)| ancestor(reader, fork, point, row));
        let fork_points = events_in_rows(reader, fork, &fork_points);
        let (read, found) = try_join(try_join_all(reads), fork_points).await?;
        ancestors.extend(read);
        events.extend(found);
        inherit(&mut ancestors);
        let last = ancestors.last().and_then(|last| last.read.forked_from());
        next = last.cloned();
    }
    count_tokens(reader, fork, &mut ancestors, events).await?;
    Ok(ancestors)
}

/// The fork points from `from` on that have rows, and the first without a row.
async fn known(
    reader: &Reader,
    fork: &Target,
    from: ForkPoint,
) -> Result<Vec<(ForkPoint, Option<HeadRow>)>, Problem> {
    let rows = queries::lineage(&reader.read_model, &fork.access.tenant, &from.conversation);
    let rows = fork.deadline.rows(rows).await?;
    let (mut known, mut next) = (Vec::with_capacity(rows.len()), Some(from));
    let mut rows = rows.into_iter();
    while let Some(point) = next {
        let row = rows.next().filter(|(id, _)| *id == point.conversation);
        let row = row.map(|(_, row)| row);
        next = row.as_ref().and_then(|row| row.head.forked_from.clone());
        known.push((point, row));
    }
    Ok(known)
}

/// Reads one ancestor. It contains at least the version of the fork point: it did when the fork was recorded.
async fn ancestor(
    reader: &Reader,
    fork: &Target,
    from: ForkPoint,
    row: Option<HeadRow>,
) -> Result<Ancestor, Problem> {
    let target = Target {
        key: ConversationKey {
            tenant: fork.key.tenant.clone(),
            conversation: from.conversation,
        },
        fence: None,
        ..fork.clone()
    };
    let rows = Rows {
        head_row: row,
        ..Rows::default()
    };
    let mut read = consistency::read_with(reader, &target, rows).await?;
    if read.position.version < from.version {
        let leader = reader.record.last_from_leader(&target.key);
        if let Some(message) = target.deadline.record(leader).await? {
            read = read.with_last(&message)?;
        }
    }
    read.check_visible(&target.access.agent)?;
    if read.position.version < from.version {
        return Err(contradiction(&target));
    }
    Ok(Ancestor {
        inherited: Inherited {
            first: first_own(read.forked_from()),
            last: from.version,
            tokens_through: 0,
        },
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

/// The last version before the inherited ones.
fn before(inherited: Inherited) -> Version {
    inherited
        .last
        .min(Version(inherited.first.0.saturating_sub(1)))
}

/// The last inherited event of each ancestor whose row contains it; `last` limits the first ancestor.
fn fork_points_in_rows(
    known: &[(ForkPoint, Option<HeadRow>)],
    mut last: Version,
) -> Vec<EventRange> {
    let mut fork_points = Vec::with_capacity(known.len());
    for (point, row) in known {
        let Some(row) = row else { break };
        let inherited = Inherited {
            first: first_own(row.head.forked_from.as_ref()),
            last: last.min(point.version),
            tokens_through: 0,
        };
        if inherited.first <= inherited.last && inherited.last <= row.head.version {
            fork_points.push(one_event(&point.conversation, inherited.last));
        }
        last = before(inherited);
    }
    fork_points
}

/// The first version that a conversation recorded itself.
fn first_own(forked_from: Option<&ForkPoint>) -> Version {
    let parent = forked_from.map_or(Version::ZERO, |parent| parent.version);
    parent.next()
}

fn one_event(conversation: &ConversationId, version: Version) -> EventRange {
    EventRange {
        conversation: conversation.clone(),
        first: version,
        last: version,
    }
}

/// Reads single events in one statement.
async fn events_in_rows(
    reader: &Reader,
    fork: &Target,
    ranges: &[EventRange],
) -> Result<Vec<EventRow>, Problem> {
    if ranges.is_empty() {
        return Ok(Vec::new());
    }
    let query = RangesQuery {
        limit: u32::try_from(ranges.len()).unwrap_or(u32::MAX),
        ranges,
        kinds: &[],
        bytes_max: u64::MAX,
    };
    let found = queries::events_of_ranges(&reader.read_model, &fork.access.tenant, query);
    let found = fork.deadline.rows(found).await?;
    found.ok_or_else(problem::not_found)
}

/// Sets the token count of each ancestor at its last inherited version. `events` are those that were read; the others are in
/// tails, or in rows that are newer than [`known`].
async fn count_tokens(
    reader: &Reader,
    fork: &Target,
    ancestors: &mut [Ancestor],
    mut events: Vec<EventRow>,
) -> Result<(), Problem> {
    let is_read = |one: &Ancestor, events: &[EventRow]| {
        let mut events = events.iter();
        events.any(|event| event.version == one.inherited.last)
    };
    let newer = ancestors.iter().filter(|one| {
        let Inherited { first, last, .. } = one.inherited;
        first <= last && last <= one.read.row_position().version && !is_read(one, &events)
    });
    let newer = newer.map(|one| one_event(&one.target.key.conversation, one.inherited.last));
    let newer: Vec<EventRange> = newer.collect();
    events.extend(events_in_rows(reader, fork, &newer).await?);
    for ancestor in ancestors {
        let inherited = ancestor.inherited;
        if inherited.first > inherited.last {
            continue;
        }
        let mut events = events.iter();
        let row = match events.find(|event| event.version == inherited.last) {
            Some(row) => row.clone(),
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
    let tail = ancestor.read.tail(target, CommitPosition::default());
    let mut tail = tail.ok_or_else(|| contradiction(target))?;
    while let Some(commits) = tail.next_page(reader, target.deadline).await? {
        let mut events = commits.iter().flat_map(|commit| event_rows(commit));
        if let Some(event) = events.find(|event| event.version == ancestor.inherited.last) {
            return Ok(event);
        }
    }
    Err(contradiction(target))
}

fn contradiction(target: &Target) -> Problem {
    problem::of_contradiction(format!(
        "conversation {} lacks the version of a fork point",
        target.key.conversation
    ))
}
