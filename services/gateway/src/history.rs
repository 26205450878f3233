//! Pages of a conversation's events by version, in both directions, over rows and tail.

use std::collections::BTreeSet;

use domain::{EventKind, Version};
use event_log::StoredCommit;
use read_model::EventRow;
use read_model::queries::{Direction, EventQuery};
use wire::status::Problem;

use crate::Gateway;
use crate::fresh::{Base, Place};
use crate::page::{Filling, Page, PageBounds};
use crate::request::Target;
use crate::window::{Window, WindowBounds, event_rows};

/// Which events to read.
#[derive(Debug, Clone)]
pub struct Range {
    /// The first version.
    pub from: Version,
    /// The last version; [`EventQuery::TO_THE_END`] for all.
    pub to: Version,
    /// Only events of these kinds; empty: all.
    pub kinds: BTreeSet<EventKind>,
    /// A commit before the first version, as late as is known: spares reading a long tail from its beginning.
    pub after: Place,
    /// The bounds of the page.
    pub bounds: PageBounds,
}

impl Range {
    fn query(&self, direction: Direction) -> EventQuery {
        EventQuery {
            from: self.from,
            to: self.to,
            direction,
            kinds: self.kinds.iter().copied().collect(),
            limit: self.bounds.events_to_read(),
            bytes_max: self.bounds.bytes_to_read(),
        }
    }

    /// The events of a commit that are in the range, oldest first.
    fn events_of(&self, commit: &StoredCommit) -> impl DoubleEndedIterator<Item = EventRow> {
        let facts = commit.opened.commit.events.iter();
        let kinds = facts.map(|event| event.fact.kind());
        let inside = event_rows(commit).zip(kinds).filter(|(event, kind)| {
            (self.from..=self.to).contains(&event.version)
                && (self.kinds.is_empty() || self.kinds.contains(kind))
        });
        inside
            .map(|(event, _)| event)
            .collect::<Vec<_>>()
            .into_iter()
    }
}

/// A page of the range, oldest first.
///
/// # Errors
/// As [`Base::read`].
pub async fn forward(gateway: &Gateway, target: &Target, range: &Range) -> Result<Page, Problem> {
    let query = range.query(Direction::Forward);
    let mut base = Base::read(gateway, target, Some(&query)).await?;
    let mut page = Filling::new(range.bounds, base.place);
    let row_place = base.row_place();
    for event in std::mem::take(&mut base.events) {
        if page.push(event, Place::default()).is_break() {
            return Ok(page.done());
        }
    }
    if range.to <= row_place.version {
        return Ok(page.done());
    }
    let Some(tail) = base.tail_after(&target.key, range.after) else {
        return Ok(page.done());
    };
    let mut tail = tail.in_pages_of(range.bounds.events_in_memory());
    let mut after = tail.place();
    while let Some(commits) = tail.next_page(gateway, target.patience).await? {
        for commit in commits {
            for event in range.events_of(&commit) {
                if page.push(event, after).is_break() {
                    return Ok(page.done());
                }
            }
            after = Place::of(&commit);
            if after.version >= range.to {
                return Ok(page.done());
            }
        }
    }
    Ok(page.done())
}

/// A page of the range, newest first.
///
/// # Errors
/// As [`Base::read`].
pub async fn backward(gateway: &Gateway, target: &Target, range: &Range) -> Result<Page, Problem> {
    let query = range.query(Direction::Backward);
    let mut base = Base::read(gateway, target, Some(&query)).await?;
    let mut page = Filling::new(range.bounds, base.place);
    let mut newest = Window::new(WindowBounds {
        events_max: range.bounds.events_in_memory(),
        bytes_max: range.bounds.bytes_to_read(),
    });
    if range.to > base.row_place().version
        && let Some(mut tail) = base.tail(&target.key)
    {
        while let Some(commits) = tail.next_page(gateway, target.patience).await? {
            let events = commits.iter().flat_map(|commit| range.events_of(commit));
            events.for_each(|event| newest.push_newer(event));
            if tail.place().version >= range.to {
                break;
            }
        }
    }
    let events = newest.into_newest_first().chain(base.events);
    for event in events {
        if page.push(event, Place::default()).is_break() {
            break;
        }
    }
    Ok(page.done())
}
