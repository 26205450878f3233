//! The walk from the newest event back: gathers units until it knows that it has all of them.

use std::ops::ControlFlow;

use domain::event::{MessageAppended, Role, ToolCalled};
use domain::{CallId, EventTokens, Fact, RecordedEvent, Version};

use super::{Beginning, Extent, Selected, Selection};
use crate::stages::budget::{Admission, Allowance};
use crate::unit::{Call, CallResult, Unit, results};

/// Something older was left out: the selection is complete.
pub(super) struct Full;

#[derive(Clone, Copy)]
pub(super) enum Truncated {
    Yes,
    No,
}

/// The state of a walk from the newest event back.
pub(super) struct Scan<'a> {
    remaining: usize,
    /// How many more events are looked at.
    events_left: usize,
    /// A summary stands for units that are wholly at or before this version.
    after: Version,
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
    pub(super) fn new(extent: Extent<'a>) -> Self {
        Self {
            remaining: extent.messages_max.0,
            events_left: extent.messages_max.events_max(),
            after: extent.after,
            allowance: extent.allowance,
            beginning: extent.beginning,
            units: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, newest: EventTokens) {
        if let Some(allowance) = &mut self.allowance {
            allowance.begin(newest.through);
        }
    }

    /// Whether nothing from this version on back can belong to the selection: a summary stands for it, and no unit reaches
    /// past the summary from there. What lies so far back that the bound on events comes first is not waited for.
    pub(super) fn ends_before(&self, version: Version) -> bool {
        version <= self.after && (self.events_left == 0 || !self.reaches_past_the_summary())
    }

    /// Whether a call or a message at or before the summary's end may belong to what comes after it.
    fn reaches_past_the_summary(&self) -> bool {
        let is_past = |version: Version| version > self.after;
        let waiting = self.results.iter().map(|result| result.version);
        let mut under_way = self.calls.iter().flat_map(Call::versions);
        waiting.into_iter().any(is_past) || under_way.any(is_past)
    }

    pub(super) fn take(&mut self, event: RecordedEvent) -> ControlFlow<Full> {
        self.events_left = self.events_left.saturating_sub(1);
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
            Fact::Annotation(_) | Fact::Lifecycle(_) => {
                self.events_left = self.events_left.saturating_add(1);
                ControlFlow::Continue(())
            }
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
        let mut versions = self.calls.iter().flat_map(Call::versions);
        let counts = versions.any(|version| version > self.after);
        if counts && 1 + results(&self.calls) > self.remaining {
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
        if unit.versions().all(|version| version <= self.after) {
            return ControlFlow::Continue(());
        }
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
        let mut results = self.results.iter();
        if self.remaining == 0 && results.any(|result| result.version > self.after) {
            return ControlFlow::Break(Full);
        }
        ControlFlow::Continue(())
    }

    /// Nothing older is looked at, since a summary stands for it: a turn that is not whole by now is left out, and results
    /// that came after the summary have no call.
    pub(super) fn cut_off(mut self) -> Selection {
        let calls = std::mem::take(&mut self.calls);
        self.results
            .extend(calls.into_iter().filter_map(|call| call.result));
        self.at_the_beginning()
    }

    /// Nothing older comes: what has no call by now is an orphan.
    pub(super) fn at_the_beginning(mut self) -> Selection {
        if let ControlFlow::Break(Full) = self.close_turn() {
            return self.selected(Truncated::Yes);
        }
        let results = self.results.iter().map(|result| result.version);
        let mut orphans: Vec<Version> = results.filter(|version| *version > self.after).collect();
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

    pub(super) fn selected(mut self, truncated: Truncated) -> Selection {
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
