//! The last messages of a conversation within a count, units whole.
//!
//! Reads from the newest event back and stops as soon as it knows, so that nothing older is fetched or decoded. What it
//! answers is the same whether it is given the whole conversation or just the window that it needs.

mod blocks;

use std::ops::ControlFlow;

use domain::bounds::OPEN_CALLS_MAX;
use domain::event::{MessageAppended, Role, ToolCalled};
use domain::{CallId, EventTokens, Fact, RecordedEvent, Version};

use crate::stages::budget::{Admission, Allowance, Measure};
use crate::unit::{Call, CallResult, Unit, results};
pub use blocks::Beginning;

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
    /// The units, oldest first: the last ones of the conversation, without a gap.
    pub units: Vec<Unit>,
    /// Whether older messages were left out.
    pub truncated: bool,
    /// The versions of results whose call is nowhere before them, ascending: no model can read them.
    pub orphans: Vec<Version>,
    /// How the room was used; zeros without an allowance.
    pub measure: Measure,
}

/// How much of a conversation to select, from its newest event back.
#[derive(Debug, Clone)]
pub struct Extent<'a> {
    /// At most so many messages.
    pub messages_max: MessageCount,
    /// Nothing up to and with this version: a summary stands for it. What is left out for it does not count as left out.
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
    let mut begun = false;
    for event in newest_first {
        let event = event?;
        if !std::mem::replace(&mut begun, true) {
            scan.begin(event.event.tokens);
        }
        if event.version <= after {
            return Ok(scan.at_the_beginning());
        }
        if scan.take(event).is_break() {
            return Ok(scan.selected(Truncated::Yes));
        }
    }
    Ok(match reach {
        Reach::Window => Selection::NeedsOlder,
        Reach::Limit => scan.selected(Truncated::Yes),
        Reach::Beginning => scan.at_the_beginning(),
    })
}

/// Something older was left out: the selection is complete.
struct Full;

#[derive(Clone, Copy)]
enum Truncated {
    Yes,
    No,
}

/// The state of a walk from the newest event back.
struct Scan<'a> {
    remaining: usize,
    allowance: Option<Allowance<'a>>,
    beginning: Beginning,
    /// Complete units, newest first.
    units: Vec<Unit>,
    /// The calls of the turn under way, last first: its message, or more calls, may come yet.
    calls: Vec<Call>,
    /// Results whose calls have not come yet, latest first.
    results: Vec<CallResult>,
}

impl<'a> Scan<'a> {
    fn new(extent: Extent<'a>) -> Self {
        Self {
            remaining: extent.messages_max.0,
            allowance: extent.allowance,
            beginning: extent.beginning,
            units: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
        }
    }

    fn begin(&mut self, newest: EventTokens) {
        if let Some(allowance) = &mut self.allowance {
            allowance.begin(newest.through);
        }
    }

    fn take(&mut self, event: RecordedEvent) -> ControlFlow<Full> {
        let (version, tokens) = (event.version, event.event.tokens);
        match event.event.fact {
            Fact::MessageAppended(message) => {
                if message.role != Role::Assistant {
                    self.close_turn()?;
                }
                self.close(version, Some((message, tokens)))
            }
            Fact::ToolCalled(called) => self.call(version, called, tokens),
            Fact::ToolReturned(returned) => {
                self.close_turn()?;
                self.results.push(CallResult {
                    version,
                    returned,
                    tokens,
                });
                self.check_full()
            }
            Fact::SystemNoted(_)
            | Fact::ErrorOccurred(_)
            | Fact::ConversationCreated(_)
            | Fact::ConversationUpdated(_)
            | Fact::ConversationArchived
            | Fact::ConversationRestored
            | Fact::ConversationErased
            | Fact::HistorySummarised(_)
            | Fact::HistoryRewound(_)
            | Fact::OwnerChanged(_)
            | Fact::RunStarted(_)
            | Fact::RunStopRequested(_)
            | Fact::RunFinished(_) => ControlFlow::Continue(()),
        }
    }

    /// Adds a call to the turn under way; ends when the turn can no longer fit, whatever else it holds.
    fn call(
        &mut self,
        version: Version,
        called: ToolCalled,
        tokens: EventTokens,
    ) -> ControlFlow<Full> {
        let result = self.result_of(&called.call_id);
        self.calls.push(Call {
            version,
            called,
            tokens,
            result,
        });
        if 1 + results(&self.calls) > self.remaining {
            return ControlFlow::Break(Full);
        }
        ControlFlow::Continue(())
    }

    /// An id may be used again once its call is answered, so going back the last result found is the call's own.
    fn result_of(&mut self, id: &CallId) -> Option<CallResult> {
        let index = self
            .results
            .iter()
            .rposition(|result| result.returned.call_id == *id)?;
        Some(self.results.remove(index))
    }

    /// Ends a turn that turns out to have no message.
    fn close_turn(&mut self) -> ControlFlow<Full> {
        match self.calls.last() {
            Some(first) => self.close(first.version, None),
            None => ControlFlow::Continue(()),
        }
    }

    fn close(
        &mut self,
        version: Version,
        message: Option<(MessageAppended, EventTokens)>,
    ) -> ControlFlow<Full> {
        let mut calls = std::mem::take(&mut self.calls);
        calls.reverse();
        let (message, tokens) = message.unzip();
        let unit = Unit {
            version,
            message,
            tokens: tokens.unwrap_or_default(),
            calls,
        };
        let Some(remaining) = self.remaining.checked_sub(unit.messages()) else {
            return ControlFlow::Break(Full);
        };
        let allowance = self.allowance.as_mut();
        if allowance.is_some_and(|allowance| allowance.admit(&unit) == Admission::Full) {
            return ControlFlow::Break(Full);
        }
        self.remaining = remaining;
        self.units.push(unit);
        self.check_full()
    }

    /// With no room left, a result whose call is yet to come proves that an older unit is left out.
    fn check_full(&self) -> ControlFlow<Full> {
        if self.remaining == 0 && !self.results.is_empty() {
            return ControlFlow::Break(Full);
        }
        ControlFlow::Continue(())
    }

    /// Nothing older comes: what has no call by now is an orphan.
    fn at_the_beginning(mut self) -> Selection {
        if let ControlFlow::Break(Full) = self.close_turn() {
            return self.selected(Truncated::Yes);
        }
        let mut orphans: Vec<Version> = self.results.iter().map(|result| result.version).collect();
        orphans.sort_unstable();
        self.results.clear();
        match self.selected(Truncated::No) {
            Selection::Selected(selected) => Selection::Selected(Selected {
                orphans,
                ..selected
            }),
            Selection::NeedsOlder => Selection::NeedsOlder,
        }
    }

    fn selected(mut self, truncated: Truncated) -> Selection {
        self.units.reverse();
        let truncated = matches!(truncated, Truncated::Yes);
        let measure = self.allowance.map(|allowance| allowance.measure());
        let measure = measure.unwrap_or_default();
        if truncated && measure.refused.is_none() {
            self.beginning.apply(&mut self.units);
        }
        Selection::Selected(Selected {
            units: self.units,
            truncated,
            orphans: Vec::new(),
            measure,
        })
    }
}
