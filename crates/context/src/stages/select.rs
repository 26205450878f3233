//! Select: the newest turns of a conversation within a bound, units whole.
//!
//! Reads backward from the newest event and stops as early as possible, so that nothing older is fetched or decoded. The result
//! is the same for the whole conversation and for a sufficient window of it.

mod blocks;
mod scan;

use domain::bounds::OPEN_CALLS_MAX;
use domain::{RecordedEvent, Version};

use crate::stages::budget::{Allowance, Measure};
use crate::unit::Unit;
pub use blocks::Start;
use scan::{Scan, Truncated};

/// A number of messages: an assistant's turn with its calls counts as one, each result as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessageCount(pub usize);

impl MessageCount {
    /// The most events of [`crate::CONTEXT_KINDS`] that [`select`] reads for this count.
    ///
    /// Each counted message, and the one more that ends the selection, has at most two events. At most [`OPEN_CALLS_MAX`] calls are
    /// pending at a time, so no more results than that can have their call before any given event.
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
    /// Older events exist and can be read.
    Window,
    /// Older events exist, but a bound excludes them: incomplete units are omitted.
    Limit,
}

/// Whether the given events were sufficient.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// They were sufficient.
    Selected(Selected),
    /// Older events are needed: call again with more.
    NeedsOlder,
}

/// The units of a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selected {
    /// The newest units, oldest first, without gaps other than what a summary covers.
    pub units: Vec<Unit>,
    /// Whether older messages were omitted.
    pub truncated: bool,
    /// The versions, in no order, of events that were read and belong to omitted units. A result of such a unit may be newer than the
    /// oldest selected unit.
    pub omitted: Vec<Version>,
    /// The versions of results without a call before them, or with one beyond the bound, ascending. They are omitted.
    pub orphans: Vec<Version>,
    /// How much of the room was used; zeros without an allowance.
    pub measure: Measure,
}

/// How much of a conversation to select, backward from its newest event.
#[derive(Debug, Clone)]
pub struct Extent<'a> {
    /// Most messages.
    pub messages_max: MessageCount,
    /// Units entirely at or before this version are excluded: a summary covers them, and they do not count as omitted. A unit with an
    /// event after it is selected whole, however old its first event is, within [`MessageCount::events_max`].
    pub after: Version,
    /// The token allowance; none: unlimited.
    pub allowance: Option<Allowance<'a>>,
    /// Where a truncated selection begins.
    pub beginning: Start,
}

impl Extent<'_> {
    /// The newest messages, with no bound on tokens.
    #[must_use]
    pub fn messages(messages_max: usize) -> Self {
        Self {
            messages_max: MessageCount(messages_max),
            after: Version::ZERO,
            allowance: None,
            beginning: Start::AtBound,
        }
    }
}

/// Selects the newest units within an extent. The first unit that does not fit ends the selection; if that is the newest one,
/// nothing is selected.
///
/// `newest_first` has strictly descending versions. Events of kinds outside [`crate::CONTEXT_KINDS`] may be missing. A result
/// belongs to the unit of its call.
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
