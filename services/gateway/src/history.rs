//! Pages of a conversation's events by version, in both directions, over rows and tail, and over what is behind a fork.

use std::collections::BTreeSet;
use std::ops::{ControlFlow, RangeInclusive};

use domain::{EventKind, RecordedEvent, Version};
use event_log::StoredCommit;
use read_model::EventRow;
use read_model::queries::{Direction, EventQuery};
use wire::status::Problem;

use crate::Gateway;
use crate::fresh::{Base, Place};
use crate::lineage::Part;
use crate::page::{Filling, Page, PageBounds};
use crate::patience::Patience;
use crate::request::Target;
use crate::window::{self, Window, WindowBounds, event_rows};

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

    /// The part of the range up to a version.
    fn up_to(&self, last: Version) -> Self {
        Self {
            to: self.to.min(last),
            ..self.clone()
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

/// The newest event among versions, of some kinds or, with none named, of any; no other is read.
///
/// # Errors
/// As [`Base::read`], or its bytes are not an event's.
pub async fn newest(
    gateway: &Gateway,
    target: &Target,
    versions: RangeInclusive<Version>,
    kinds: &[EventKind],
) -> Result<Option<RecordedEvent>, Problem> {
    let range = Range {
        from: *versions.start(),
        to: *versions.end(),
        kinds: kinds.iter().copied().collect(),
        after: Place::default(),
        bounds: PageBounds {
            events_max: 1,
            bytes_max: 1,
        },
    };
    let page = backward(gateway, target, &range).await?;
    let row = page.events.first();
    row.map(|row| window::recorded(&target.key, row))
        .transpose()
}

/// A page of the range, oldest first.
///
/// # Errors
/// As [`Base::read`].
pub async fn forward(gateway: &Gateway, target: &Target, range: &Range) -> Result<Page, Problem> {
    let query = range.query(Direction::Forward);
    let mut base = Base::read(gateway, target, Some(&query)).await?;
    let mut page = Filling::new(range.bounds, base.place);
    for ancestor in base.lineage.forward(range.from, range.to) {
        let part = ancestor.part(gateway, &query, range.after).await?;
        let shared = range.up_to(ancestor.last());
        let filled = fill_forward(gateway, target.patience, part, (&shared, &mut page));
        if filled.await?.is_break() {
            return Ok(page.done());
        }
    }
    let part = Part {
        events: std::mem::take(&mut base.events),
        row_place: base.row_place(),
        tail: base.tail_after(&target.key, range.after),
    };
    // Full or not: nothing comes after it.
    let _ = fill_forward(gateway, target.patience, part, (range, &mut page)).await?;
    Ok(page.done())
}

/// Fills a page with one conversation's part of a range; breaks when the page is full.
async fn fill_forward(
    gateway: &Gateway,
    patience: Patience,
    part: Part,
    (range, page): (&Range, &mut Filling),
) -> Result<ControlFlow<()>, Problem> {
    for event in part.events {
        if page.push(event, Place::default()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    let Some(tail) = part.tail.filter(|_| range.to > part.row_place.version) else {
        return Ok(ControlFlow::Continue(()));
    };
    let mut tail = tail.in_pages_of(range.bounds.events_in_memory());
    let mut after = tail.place();
    while let Some(commits) = tail.next_page(gateway, patience).await? {
        for commit in commits {
            for event in range.events_of(&commit) {
                if page.push(event, after).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            after = Place::of(&commit);
            if after.version >= range.to {
                return Ok(ControlFlow::Continue(()));
            }
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// A page of the range, newest first.
///
/// # Errors
/// As [`Base::read`].
pub async fn backward(gateway: &Gateway, target: &Target, range: &Range) -> Result<Page, Problem> {
    let query = range.query(Direction::Backward);
    let mut base = Base::read(gateway, target, Some(&query)).await?;
    let mut page = Filling::new(range.bounds, base.place);
    let part = Part {
        events: std::mem::take(&mut base.events),
        row_place: base.row_place(),
        tail: base.tail(&target.key),
    };
    let mut filled = fill_backward(gateway, target.patience, part, (range, &mut page)).await?;
    for ancestor in base.lineage.backward(range.from, range.to) {
        if filled.is_break() {
            break;
        }
        let part = ancestor.part(gateway, &query, Place::default()).await?;
        let shared = range.up_to(ancestor.last());
        filled = fill_backward(gateway, target.patience, part, (&shared, &mut page)).await?;
    }
    Ok(page.done())
}

/// As [`fill_forward`], newest first.
async fn fill_backward(
    gateway: &Gateway,
    patience: Patience,
    part: Part,
    (range, page): (&Range, &mut Filling),
) -> Result<ControlFlow<()>, Problem> {
    let mut newest = Window::new(WindowBounds {
        events_max: range.bounds.events_in_memory(),
        bytes_max: range.bounds.bytes_to_read(),
    });
    if let Some(mut tail) = part.tail.filter(|_| range.to > part.row_place.version) {
        while let Some(commits) = tail.next_page(gateway, patience).await? {
            let events = commits.iter().flat_map(|commit| range.events_of(commit));
            events.for_each(|event| newest.push_newer(event));
            if tail.place().version >= range.to {
                break;
            }
        }
    }
    for event in newest.into_newest_first().chain(part.events) {
        if page.push(event, Place::default()).is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
