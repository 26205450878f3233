//! The newest events of a conversation, over rows and tail: as many as are likely to do, then as many as may be needed.
//! What its rewinds pass over is not among them.

use context::Reach;
use domain::head::SummaryPlace;
use domain::{EventKind, Owner, PassedOver, Status, Version};
use read_model::EventRow;
use read_model::queries::{Direction, EventQuery};
use wire::status::Problem;

use crate::fresh::{self, Base, Place};
use crate::lineage::{Lineage, Part};
use crate::patience::Patience;
use crate::request::Target;
use crate::tail::Tail;
use crate::window::{Window, WindowBounds, event_rows, sum_of_bytes};
use crate::{Gateway, problem, rewinds};

/// Which events to read.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// Only events of these kinds.
    pub kinds: &'static [EventKind],
    /// How many are likely to do: the rows are asked for so many at first.
    pub likely: usize,
    /// Nothing after this version; [`EventQuery::TO_THE_END`] for all.
    pub to: Version,
    /// The most that can be needed.
    pub bounds: WindowBounds,
}

/// The newest events of a conversation.
#[derive(Debug)]
pub struct Recent {
    /// The events.
    pub window: Window,
    /// Where the conversation stood at the time of the read.
    pub place: Place,
    /// Where its rows stood: what is later came from the tail.
    pub row_place: Place,
    /// The conversation's owner; none once erased.
    pub owner: Option<Owner>,
    /// Where the conversation's own latest summary stands.
    pub latest_summary: Option<SummaryPlace>,
    /// What stands behind the conversation, where it is a fork.
    pub lineage: Lineage,
    /// What its rewinds pass over.
    pub passed: PassedOver,
    /// The oldest row that was read, whether it is in the window or passed over.
    oldest_row: Option<Version>,
    has_rows: bool,
    wanted: Wanted,
    rows_left: RowsLeft,
}

/// Whether there are rows older than those that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RowsLeft {
    None,
    Some,
    /// There may be, but as many as may be needed were read.
    NotNeeded,
}

impl Recent {
    /// Reads as many as are likely to do.
    ///
    /// # Errors
    /// As [`Base::read`].
    pub async fn read(gateway: &Gateway, target: &Target, wanted: Wanted) -> Result<Self, Problem> {
        let limit = wanted.likely.min(wanted.bounds.events_max);
        let query = wanted.query(wanted.to, limit);
        let mut base = Base::read(gateway, target, Some(&query)).await?;
        let mut recent = Self {
            window: Window::new(wanted.bounds),
            place: base.place,
            row_place: base.row_place(),
            owner: base.head().and_then(|head| head.owner.clone()),
            latest_summary: base.head().and_then(|head| head.latest_summary),
            lineage: std::mem::take(&mut base.lineage),
            passed: PassedOver::default(),
            oldest_row: None,
            has_rows: base.standing.is_some(),
            wanted,
            rows_left: RowsLeft::None,
        };
        let own = base.head().and_then(|head| head.latest_rewind);
        if own.is_some() || recent.lineage.is_rewound() {
            let to = wanted.to.min(recent.place.version);
            // Boxed: what few conversations need shall not weigh on the reads of all.
            recent.passed = Box::pin(rewinds::passed_over(gateway, target, to)).await?;
        }
        if wanted.to > recent.row_place.version {
            recent.take_tail(gateway, target, &mut base).await?;
        }
        let rows = base.events.len();
        if recent.has_rows {
            recent.take_rows(base.events, limit);
        }
        let limit = limit.saturating_sub(rows);
        recent.take_ancestors(gateway, wanted.to, limit).await?;
        Ok(recent)
    }

    /// Reads all that may be needed.
    ///
    /// # Errors
    /// The read model is away, or the conversation was erased meanwhile.
    pub async fn read_older(&mut self, gateway: &Gateway, target: &Target) -> Result<(), Problem> {
        loop {
            self.read_behind(gateway, target).await?;
            if self.rows_left != RowsLeft::Some {
                return Ok(());
            }
            // Rows that are passed over took the room of others, which are read next.
            if self.window.is_full() || self.passed.is_empty() {
                self.rows_left = RowsLeft::NotNeeded;
                return Ok(());
            }
        }
    }

    /// Reads as many rows as there is room for, behind those that were read.
    async fn read_behind(&mut self, gateway: &Gateway, target: &Target) -> Result<(), Problem> {
        let read = self.window.oldest().into_iter().chain(self.oldest_row);
        let oldest = read
            .min()
            .unwrap_or(self.row_place.version.min(self.wanted.to).next());
        let limit = self
            .wanted
            .bounds
            .events_max
            .saturating_sub(self.window.len());
        let to = self.passed.shown(Version(oldest.0.saturating_sub(1)));
        let rows = self.take_older_rows(gateway, target, (to, limit)).await?;
        let limit = limit.saturating_sub(rows);
        self.take_ancestors(gateway, to, limit).await
    }

    /// Whether an event came from the rows.
    #[must_use]
    pub fn is_in_rows(&self, version: Version) -> bool {
        let behind = self.lineage.is_in_rows(version);
        behind.unwrap_or(version <= self.row_place.version)
    }

    /// Takes up to `limit` rows up to a version; how many there were.
    async fn take_older_rows(
        &mut self,
        gateway: &Gateway,
        target: &Target,
        (to, limit): (Version, usize),
    ) -> Result<usize, Problem> {
        self.rows_left = RowsLeft::None;
        if !self.has_rows {
            return Ok(0);
        }
        let query = self.wanted.query(to, limit);
        let rows = fresh::rows(gateway, target, Some(&query));
        let rows = target.patience.rows(rows).await?;
        let standing = rows
            .standing
            .filter(|row| row.head.status != Status::Erased);
        standing.ok_or_else(problem::not_found)?;
        let count = rows.events.len();
        self.take_rows(rows.events, limit);
        Ok(count)
    }

    /// Takes what is behind the conversation up to a version, as long as there is room: at most `limit` rows of it.
    async fn take_ancestors(
        &mut self,
        gateway: &Gateway,
        to: Version,
        mut limit: usize,
    ) -> Result<(), Problem> {
        let lineage = std::mem::take(&mut self.lineage);
        for ancestor in lineage.backward(Version::ZERO, to) {
            if self.rows_left != RowsLeft::None || self.window.has_left_out() {
                break;
            }
            if limit == 0 || self.window.is_full() {
                self.rows_left = RowsLeft::Some;
                break;
            }
            let query = self.wanted.query(to.min(ancestor.last()), limit);
            let part = ancestor.part(gateway, &query, Place::default()).await?;
            let rows = part.events.len();
            self.take_part(gateway, ancestor.patience(), part, (query.to, limit))
                .await?;
            limit = limit.saturating_sub(rows);
        }
        self.lineage = lineage;
        Ok(())
    }

    /// Takes one conversation's part of what is behind.
    async fn take_part(
        &mut self,
        gateway: &Gateway,
        patience: Patience,
        part: Part,
        (to, limit): (Version, usize),
    ) -> Result<(), Problem> {
        if let Some(tail) = part.tail {
            let mut newest = Window::new(self.wanted.bounds);
            let wanted = (self.wanted, &self.passed);
            take_tail(gateway, patience, (tail, to), (wanted, &mut newest)).await?;
            let has_left_out = newest.has_left_out();
            for event in newest.into_newest_first() {
                if self.window.push_older(event).is_break() {
                    return Ok(());
                }
            }
            if has_left_out {
                self.window.leave_out();
                return Ok(());
            }
        }
        self.take_rows(part.events, limit);
        Ok(())
    }

    /// How far back the events reach.
    #[must_use]
    pub fn reach(&self) -> Reach {
        match self.rows_left {
            _ if self.window.has_left_out() => Reach::Limit,
            RowsLeft::None => Reach::Beginning,
            RowsLeft::Some if !self.window.is_full() => Reach::Window,
            RowsLeft::Some | RowsLeft::NotNeeded => Reach::Limit,
        }
    }

    async fn take_tail(
        &mut self,
        gateway: &Gateway,
        target: &Target,
        base: &mut Base,
    ) -> Result<(), Problem> {
        let Some(tail) = base.tail(&target.key) else {
            return Ok(());
        };
        let (wanted, tail) = ((self.wanted, &self.passed), (tail, self.wanted.to));
        take_tail(gateway, target.patience, tail, (wanted, &mut self.window)).await
    }

    fn take_rows(&mut self, events: Vec<EventRow>, limit: usize) {
        let all = events.len() < limit && sum_of_bytes(&events) < self.wanted.bounds.bytes_max;
        self.rows_left = if all { RowsLeft::None } else { RowsLeft::Some };
        self.oldest_row = events.last().map(|row| row.version).or(self.oldest_row);
        for event in events {
            if !self.passed.hides(event.version) && self.window.push_older(event).is_break() {
                return;
            }
        }
    }
}

/// Takes the wanted events of a tail up to a version, but for what is passed over.
async fn take_tail(
    gateway: &Gateway,
    patience: Patience,
    (mut tail, to): (Tail, Version),
    ((wanted, passed), window): ((Wanted, &PassedOver), &mut Window),
) -> Result<(), Problem> {
    while let Some(commits) = tail.next_page(gateway, patience).await? {
        for commit in &commits {
            let facts = commit.opened.commit.events.iter();
            let kinds = facts.map(|event| event.fact.kind());
            let events = event_rows(commit).zip(kinds);
            let taken = events.filter(|(event, kind)| {
                event.version <= to && wanted.kinds.contains(kind) && !passed.hides(event.version)
            });
            taken.for_each(|(event, _)| window.push_newer(event));
        }
        if tail.place().version >= to {
            break;
        }
    }
    Ok(())
}

impl Wanted {
    fn query(&self, to: Version, limit: usize) -> EventQuery {
        EventQuery {
            from: Version::ZERO.next(),
            to,
            direction: Direction::Backward,
            kinds: self.kinds.to_vec(),
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
            bytes_max: self.bounds.bytes_max,
        }
    }
}
