//! The newest events of a conversation, over rows and tail: as many as are likely to do, then as many as may be needed.

use context::Reach;
use domain::head::SummaryPlace;
use domain::{EventKind, Status, Version};
use read_model::EventRow;
use read_model::queries::{Direction, EventQuery};
use wire::status::Problem;

use crate::fresh::{self, Base, Place};
use crate::request::Target;
use crate::window::{Window, WindowBounds, event_rows, sum_of_bytes};
use crate::{Gateway, problem};

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
    /// Where the latest summary stands.
    pub latest_summary: Option<SummaryPlace>,
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
            latest_summary: base.head().and_then(|head| head.latest_summary),
            wanted,
            rows_left: RowsLeft::None,
        };
        if wanted.to > recent.row_place.version {
            recent.take_tail(gateway, target, &mut base).await?;
        }
        if base.standing.is_some() {
            recent.take_rows(base.events, limit);
        }
        Ok(recent)
    }

    /// Reads all that may be needed.
    ///
    /// # Errors
    /// The read model is away, or the conversation was erased meanwhile.
    pub async fn read_older(&mut self, gateway: &Gateway, target: &Target) -> Result<(), Problem> {
        let oldest = self
            .window
            .oldest()
            .unwrap_or(self.row_place.version.min(self.wanted.to).next());
        let limit = self
            .wanted
            .bounds
            .events_max
            .saturating_sub(self.window.len());
        let query = self
            .wanted
            .query(Version(oldest.0.saturating_sub(1)), limit);
        let rows = fresh::rows(gateway, target, Some(&query));
        let rows = target.patience.rows(rows).await?;
        match rows.standing {
            Some(row) if row.head.status != Status::Erased => {
                self.take_rows(rows.events, limit);
            }
            Some(_) | None => return Err(problem::not_found()),
        }
        if self.rows_left == RowsLeft::Some {
            self.rows_left = RowsLeft::NotNeeded;
        }
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
        let Some(mut tail) = base.tail(&target.key) else {
            return Ok(());
        };
        while let Some(commits) = tail.next_page(gateway, target.patience).await? {
            for commit in &commits {
                let facts = commit.opened.commit.events.iter();
                let kinds = facts.map(|event| event.fact.kind());
                let events = event_rows(commit).zip(kinds);
                let wanted = events.filter(|(event, kind)| {
                    event.version <= self.wanted.to && self.wanted.kinds.contains(kind)
                });
                wanted.for_each(|(event, _)| self.window.push_newer(event));
            }
        }
        Ok(())
    }

    fn take_rows(&mut self, events: Vec<EventRow>, limit: usize) {
        let all = events.len() < limit && sum_of_bytes(&events) < self.wanted.bounds.bytes_max;
        self.rows_left = if all { RowsLeft::None } else { RowsLeft::Some };
        for event in events {
            if self.window.push_older(event).is_break() {
                return;
            }
        }
    }
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
