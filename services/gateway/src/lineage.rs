//! What a fork goes on from: the conversations behind it, each with the versions that the fork shares of it.
//!
//! A fork's own events follow the last version that it shares, so all of them together are one dense history. Whoever reads
//! one reads its own part as ever, and asks here for the parts behind it. Where one of them was erased, nothing of the fork
//! can be read any more.

use domain::bounds::FORK_DEPTH_MAX;
use domain::head::SummaryPlace;
use domain::{
    ConversationId, ConversationKey, EventTokens, ForkPoint, RecordedEvent, Status, Version,
};
use event_log::StoredCommit;
use read_model::EventRow;
use read_model::queries::{Direction, EventQuery};
use wire::status::Problem;

use crate::fresh::{self, Base, Place};
use crate::patience::Patience;
use crate::request::Target;
use crate::tail::Tail;
use crate::window::{event_rows, recorded};
use crate::{Gateway, problem};

/// The conversations behind a fork, the nearest first; none behind one that is no fork.
#[derive(Debug, Default)]
pub struct Lineage(Vec<Ancestor>);

/// A conversation that a fork goes on from, and what the fork shares of it.
#[derive(Debug)]
pub struct Ancestor {
    target: Target,
    row_place: Place,
    /// The last commit, where the rows do not hold all that is shared.
    ahead: Option<StoredCommit>,
    latest_summary: Option<SummaryPlace>,
    is_rewound: bool,
    /// The first version of its own.
    first: Version,
    /// The last version that is shared.
    last: Version,
    /// The event of that version, where the rows hold it.
    last_event: Option<EventRow>,
}

/// The part of a history that one conversation holds: rows, in some direction, and what is later than all of them.
#[derive(Debug)]
pub struct Part {
    /// The events that were asked for, as far as the rows hold them.
    pub events: Vec<EventRow>,
    /// Where the rows stand.
    pub row_place: Place,
    /// What the rows do not hold.
    pub tail: Option<Tail>,
}

/// The tokens of what stands behind a fork.
#[derive(Debug, Default)]
pub struct TokensBehind(Vec<(Version, u64)>);

/// The lineage of a fork that leaves from a point.
///
/// # Errors
/// One of the conversations was erased, or a dependency is away.
pub async fn read(gateway: &Gateway, fork: &Target, from: &ForkPoint) -> Result<Lineage, Problem> {
    let mut lineage = Lineage::default();
    let mut next = Some(from.clone());
    while let Some(from) = next {
        if u32::try_from(lineage.0.len()).is_ok_and(|depth| depth >= FORK_DEPTH_MAX) {
            return Err(contradiction(&fork.key.conversation));
        }
        let shared = lineage.0.last().map_or(from.version, |nearer| {
            from.version.min(Version(nearer.first.0.saturating_sub(1)))
        });
        let (ancestor, behind) = ancestor(gateway, fork, from.conversation, shared).await?;
        lineage.0.push(ancestor);
        next = behind;
    }
    Ok(lineage)
}

async fn ancestor(
    gateway: &Gateway,
    fork: &Target,
    conversation: ConversationId,
    last: Version,
) -> Result<(Ancestor, Option<ForkPoint>), Problem> {
    let target = Target {
        key: ConversationKey {
            tenant: fork.key.tenant.clone(),
            conversation,
        },
        fence: None,
        ..fork.clone()
    };
    let mut base = read_base(gateway, &target, last).await?;
    let behind = base.head().and_then(|head| head.forked_from.clone());
    let ancestor = Ancestor {
        row_place: base.row_place(),
        latest_summary: base.head().and_then(|head| head.latest_summary),
        is_rewound: base.head().is_some_and(|head| head.latest_rewind.is_some()),
        first: behind
            .as_ref()
            .map_or(Version::ZERO, |behind| behind.version)
            .next(),
        last,
        last_event: base.events.pop(),
        ahead: base.take_ahead(),
        target,
    };
    Ok((ancestor, behind))
}

/// Where the conversation stands, which is no earlier than `last`: that was seen when the fork began.
async fn read_base(gateway: &Gateway, target: &Target, last: Version) -> Result<Base, Problem> {
    let query = EventQuery {
        from: last,
        to: last,
        direction: Direction::Forward,
        kinds: Vec::new(),
        limit: 1,
        bytes_max: 1,
    };
    let mut base = Base::read_fenced(gateway, target, Some(&query)).await?;
    if base.place.version < last {
        let leader = gateway.record.last_from_leader(&target.key);
        if let Some(message) = target.patience.record(leader).await? {
            base = base.with_last(&message)?;
        }
    }
    base.check_visible(&target.access.agent)?;
    if base.place.version < last {
        return Err(contradiction(&target.key.conversation));
    }
    Ok(base)
}

fn contradiction(conversation: &ConversationId) -> Problem {
    problem::of_contradiction(format!(
        "conversation {conversation} lacks what a fork goes on from"
    ))
}

impl Lineage {
    /// The conversations behind the fork that share versions of this range, the oldest first.
    pub fn forward(&self, from: Version, to: Version) -> impl Iterator<Item = &Ancestor> {
        self.0
            .iter()
            .rev()
            .filter(move |one| one.holds_of(from, to))
    }

    /// The same, the nearest first.
    pub fn backward(&self, from: Version, to: Version) -> impl Iterator<Item = &Ancestor> {
        self.0.iter().filter(move |one| one.holds_of(from, to))
    }

    /// The last version that is shared with another conversation in the history up to `at`; [`Version::ZERO`]: none is.
    #[must_use]
    pub fn shared(&self, at: Version) -> Version {
        let mut shared = self.0.iter().map(|ancestor| ancestor.last);
        shared.find(|last| *last < at).unwrap_or_default()
    }

    /// Whether an event from behind the fork came from the rows; `None` for one of the fork's own.
    #[must_use]
    pub fn is_in_rows(&self, version: Version) -> Option<bool> {
        let mut holders = self.0.iter().rev();
        let holder = holders.find(|ancestor| version <= ancestor.last)?;
        Some(version <= holder.row_place.version)
    }

    /// Whether one of the conversations behind the fork was ever rewound.
    #[must_use]
    pub fn is_rewound(&self) -> bool {
        self.0.iter().any(|ancestor| ancestor.is_rewound)
    }

    /// A version at or before which no summary is newer than the newest up to `at`, where there is any: `own` is the
    /// fork's own latest one.
    #[must_use]
    pub fn summary_since(&self, own: Option<SummaryPlace>, at: Version) -> Option<Version> {
        let behind = self
            .0
            .iter()
            .map(|ancestor| (ancestor.latest_summary, ancestor.last.min(at)));
        let mut places = std::iter::once((own, at)).chain(behind);
        let (latest, end) = places.find_map(|(latest, end)| Some((latest?.version, end)))?;
        // One past the end hides those before it: how far back they are, nobody has told.
        Some(if latest <= end { latest } else { Version(1) })
    }

    /// The tokens of what stands behind the fork, by the last event that is shared of each conversation.
    ///
    /// # Errors
    /// One of the conversations was erased, or a dependency is away.
    pub async fn tokens(&self, gateway: &Gateway) -> Result<TokensBehind, Problem> {
        let (mut sums, mut sum) = (Vec::with_capacity(self.0.len()), 0_u64);
        for ancestor in self.0.iter().rev().filter(|one| one.first <= one.last) {
            sum = sum.saturating_add(ancestor.tokens(gateway).await?.through);
            sums.push((ancestor.last, sum));
        }
        Ok(TokensBehind(sums))
    }
}

impl TokensBehind {
    /// The tokens of the whole history up to a version, of which its own conversation counted so many.
    #[must_use]
    pub fn through(&self, version: Version, own: u64) -> u64 {
        let behind = self.0.iter().rev().find(|(last, _)| *last < version);
        behind.map_or(own, |(_, sum)| own.saturating_add(*sum))
    }

    /// The event with the tokens of the whole history up to it, where its own conversation counted from the fork on.
    #[must_use]
    pub fn add(&self, mut event: RecordedEvent) -> RecordedEvent {
        let through = &mut event.event.tokens.through;
        *through = self.through(event.version, *through);
        event
    }
}

impl Ancestor {
    /// The last version that is shared.
    #[must_use]
    pub fn last(&self) -> Version {
        self.last
    }

    /// How long the read may wait.
    #[must_use]
    pub fn patience(&self) -> Patience {
        self.target.patience
    }

    fn holds_of(&self, from: Version, to: Version) -> bool {
        self.first <= self.last.min(to) && from <= self.last
    }

    /// The conversation's part of what is asked for; `after` as in [`Base::tail_after`].
    ///
    /// # Errors
    /// It was erased meanwhile, or the read model is away.
    pub async fn part(
        &self,
        gateway: &Gateway,
        query: &EventQuery,
        after: Place,
    ) -> Result<Part, Problem> {
        let to = query.to.min(self.last);
        let query = EventQuery {
            to: to.min(self.row_place.version),
            ..query.clone()
        };
        let rows = fresh::rows(gateway, &self.target, Some(&query));
        let rows = self.target.patience.rows(rows).await?;
        let is_erased = |row: &read_model::Standing| row.head.status == Status::Erased;
        if rows.standing.as_ref().is_some_and(is_erased) {
            return Err(problem::not_found());
        }
        Ok(Part {
            events: rows.events,
            row_place: self.row_place,
            tail: self.tail(to, after),
        })
    }

    /// What lies between the rows and a version.
    fn tail(&self, to: Version, after: Place) -> Option<Tail> {
        let ahead = self
            .ahead
            .as_ref()
            .filter(|_| to > self.row_place.version)?;
        let after = fresh::later(after, self.row_place);
        Some(Tail::new(self.target.key.clone(), after, ahead.clone()))
    }

    /// The tokens of the conversation's own events, those that are shared.
    async fn tokens(&self, gateway: &Gateway) -> Result<EventTokens, Problem> {
        let last = match &self.last_event {
            Some(row) => recorded(&self.target.key, row)?,
            None => recorded(&self.target.key, &self.last_of_tail(gateway).await?)?,
        };
        Ok(last.event.tokens)
    }

    async fn last_of_tail(&self, gateway: &Gateway) -> Result<EventRow, Problem> {
        let missing = || contradiction(&self.target.key.conversation);
        let mut tail = self.tail(self.last, Place::default()).ok_or_else(missing)?;
        while let Some(commits) = tail.next_page(gateway, self.target.patience).await? {
            let mut events = commits.iter().flat_map(event_rows);
            if let Some(event) = events.find(|event| event.version == self.last) {
                return Ok(event);
            }
        }
        Err(missing())
    }
}
