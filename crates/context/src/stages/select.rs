//! The last messages of a conversation within a count, units whole.
//!
//! Reads from the newest event back and stops as soon as it knows, so that nothing older is fetched or decoded. What it
//! answers is the same whether it is given the whole conversation or just the window that it needs.

mod blocks;
mod scan;

use domain::bounds::OPEN_CALLS_MAX;
use domain::{RecordedEvent, Version};

use crate::stages::budget::{Allowance, Measure};
use crate::unit::Unit;
pub use blocks::Beginning;
use scan::{Scan, Truncated};

/// A number of messages: an assistant's turn with its calls is one, each result is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageCount(pub usize);

impl MessageCount {
    /// The most events of [`crate::CONTEXT_KINDS`] that [`select`] looks at for this count, however the conversation is made.
    ///
    /// Each message that is counted, and the one past the count that proves the end, stands in at most two events; at most
    /// [`OPEN_CALLS_MAX`] calls wait for a result, and no more results can have their call before any given event.
    #[must_use]
    pub fn events_max(self) -> usize {
        2 * (self.0 + 1) + 2 * OPEN_CALLS_MAX
    }
}

/// How far back the given events reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the conversation's first event.
    Beginning,
    /// To some event with older ones before it, which can be had.
    Window,
    /// To some event with older ones before it, which a bound keeps out: what is not whole by then is left out.
    Limit,
}

/// Whether the given events were enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// They were.
    Selected(Selected),
    /// What is asked for may lie before them: ask again with more.
    NeedsOlder,
}

/// The units of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The units, oldest first: the last ones of the conversation, without a gap but for those that a summary stands for.
    pub units: Vec<Unit>,
    /// Whether older messages were left out.
    pub truncated: bool,
    /// The versions of results whose call is nowhere before them, or further back than is looked, ascending: no model can
    /// read them.
    pub orphans: Vec<Version>,
    /// How the room was used; zeros without an allowance.
    pub measure: Measure,
}

/// How much of a conversation to select, from its newest event back.
#[derive(Debug, Clone)]
pub struct Extent<'a> {
    /// At most so many messages.
    pub messages_max: MessageCount,
    /// No unit that is wholly at or before this version: a summary stands for it. What is left out for it does not count as
    /// left out. A unit with an event after it comes whole, however far back it begins, within [`MessageCount::events_max`].
    pub after: Version,
    /// As many turns as there is room for; none: whatever they weigh.
    pub allowance: Option<Allowance<'a>>,
    /// Where a selection begins that ends at a bound.
    pub beginning: Beginning,
}

impl Extent<'_> {
    /// The last messages, whatever they weigh.
    #[must_use]
    pub fn messages(messages_max: usize) -> Self {
        Self {
            messages_max: MessageCount(messages_max),
            after: Version::ZERO,
            allowance: None,
            beginning: Beginning::AtTheBound,
        }
    }
}

/// Selects the last units within an extent; the first one that does not fit ends the selection, and when that is the newest
/// nothing is selected.
///
/// `newest_first` has strictly falling versions; events of other kinds than [`crate::CONTEXT_KINDS`] may be left out of it.
/// A result belongs to the unit of its call, wherever it came.
///
/// # Errors
/// The first error of the iterator. It is not polled past the event that ends the selection.
pub fn select<E>(
    newest_first: impl IntoIterator<Item = Result<RecordedEvent, E>>,
    extent: Extent<'_>,
    reach: Reach,
) -> Result<Selection, E> {
    let after = extent.after;
    let mut scan = Scan::new(extent);
    let (mut begun, mut passed) = (false, false);
    for event in newest_first {
        let event = event?;
        if !std::mem::replace(&mut begun, true) {
            scan.begin(event.event.tokens);
        }
        if scan.ends_before(event.version) {
            return Ok(scan.cut_off());
        }
        passed = event.version <= after;
        if scan.take(event).is_break() {
            return Ok(scan.selected(Truncated::Yes));
        }
    }
    Ok(match reach {
        Reach::Window => Selection::NeedsOlder,
        Reach::Limit if passed => scan.cut_off(),
        Reach::Limit => scan.selected(Truncated::Yes),
        Reach::Beginning => scan.at_the_beginning(),
    })
}
