//! The scan from the newest event backward: collects units until the selection is complete.

use std::ops::ControlFlow;

use domain::event::{MessageAppended, Role, ToolCalled};
use domain::{CallId, EventTokens, Fact, RecordedEvent, Version};

use super::{Extent, Selected, Selection, Start};
use crate::stages::budget::{Admission, Allowance};
use crate::unit::{Call, CallResult, Unit, results};

/// The selection is complete: an older unit was omitted.
pub(super) struct Full;

#[derive(Clone, Copy)]
pub(super) enum Truncated {
    Yes,
    No,
}

/// The state of a backward scan.
pub(super) struct Scan<'a> {
    remaining: usize,
    /// How many more events are read.
    events_left: usize,
    /// A summary covers units that are entirely at or before this version.
    after: Version,
    allowance: Option<Allowance<'a>>,
    beginning: Start,
    /// Complete units, newest first.
    units: Vec<Unit>,
    /// The calls of the current turn, last first: its message or more calls may follow.
    calls: Vec<Call>,
    /// Results whose calls were not read yet, newest first.
    results: Vec<CallResult>,
    /// The versions of a unit that does not fit.
    omitted: Vec<Version>,
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
            omitted: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, newest: EventTokens) {
        if let Some(allowance) = &mut self.allowance {
            allowance.begin(newest.through);
        }
    }

    /// Whether nothing at or before this version can belong to the selection: a summary covers it, and no unit continues after the
    /// summary. Events beyond the bound are not waited for.
    pub(super) fn ends_before(&self, version: Version) -> bool {
        version <= self.after && (self.events_left == 0 || !self.reaches_past_the_summary())
    }

    /// Whether a call or a message that the summary covers may belong to a later event.
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
                self.results.push(CallResult { version, returned, tokens });
                self.check_full()
            }
            Fact::Annotation(_) | Fact::Lifecycle(_) => {
                self.events_left = self.events_left.saturating_add(1);
                ControlFlow::Continue(())
            }
        }
    }

    /// Adds a call to the current turn; breaks when the turn can no longer fit.
    fn call(&mut self, version: Version, called: ToolCalled, tokens: EventTokens) -> ControlFlow<Full> {
        let result = self.result_of(&called.call_id);
        self.calls.push(Call { version, called, tokens, result });
        let mut versions = self.calls.iter().flat_map(Call::versions);
        let counts = versions.any(|version| version > self.after);
        if counts && 1 + results(&self.calls) > self.remaining {
            return ControlFlow::Break(Full);
        }
        ControlFlow::Continue(())
    }

    /// An id may be used again after its call is answered. So, reading backward, the last result found belongs to the call.
    fn result_of(&mut self, id: &CallId) -> Option<CallResult> {
        let index = self.results.iter().rposition(|result| result.returned.call_id == *id)?;
        Some(self.results.remove(index))
    }

    /// Closes a turn that has no message.
    fn close_turn(&mut self) -> ControlFlow<Full> {
        match self.calls.last() {
            Some(first) => self.close(first.version, None),
            None => ControlFlow::Continue(()),
        }
    }

    fn close(&mut self, version: Version, message: Option<(MessageAppended, EventTokens)>) -> ControlFlow<Full> {
        let mut calls = std::mem::take(&mut self.calls);
        calls.reverse();
        let (message, tokens) = message.unzip();
        let unit = Unit { version, message, tokens: tokens.unwrap_or_default(), calls };
        if unit.versions().all(|version| version <= self.after) {
            return ControlFlow::Continue(());
        }
        let remaining = self.remaining.checked_sub(unit.messages());
        let fits = |allowance: &mut Allowance<'_>| allowance.admit(&unit) != Admission::Full;
        let Some(remaining) = remaining.filter(|_| self.allowance.as_mut().is_none_or(fits)) else {
            self.omitted.extend(unit.versions());
            return ControlFlow::Break(Full);
        };
        self.remaining = remaining;
        self.units.push(unit);
        self.check_full()
    }

    /// With no room left, a result whose call was not read yet proves that an older unit is omitted.
    fn check_full(&self) -> ControlFlow<Full> {
        let mut results = self.results.iter();
        if self.remaining == 0 && results.any(|result| result.version > self.after) {
            return ControlFlow::Break(Full);
        }
        ControlFlow::Continue(())
    }

    /// Ends the scan at the summary: an incomplete turn is omitted, and results after the summary have no call.
    pub(super) fn cut_off(mut self) -> Selection {
        let calls = std::mem::take(&mut self.calls);
        self.results.extend(calls.into_iter().filter_map(|call| call.result));
        self.at_the_beginning()
    }

    /// Ends the scan at the first event: results without a call are orphans.
    pub(super) fn at_the_beginning(mut self) -> Selection {
        if let ControlFlow::Break(Full) = self.close_turn() {
            return self.selected(Truncated::Yes);
        }
        let results = self.results.iter().map(|result| result.version);
        let mut orphans: Vec<Version> = results.filter(|version| *version > self.after).collect();
        orphans.sort_unstable();
        self.results.clear();
        match self.selected(Truncated::No) {
            Selection::Selected(selected) => Selection::Selected(Selected { orphans, ..selected }),
            Selection::NeedsOlder => Selection::NeedsOlder,
        }
    }

    pub(super) fn selected(mut self, truncated: Truncated) -> Selection {
        self.units.reverse();
        let truncated = matches!(truncated, Truncated::Yes);
        let measure = self.allowance.map(|allowance| allowance.measure()).unwrap_or_default();
        let mut omitted = self.omitted;
        omitted.extend(self.calls.iter().flat_map(Call::versions));
        omitted.extend(self.results.iter().map(|result| result.version));
        if truncated && measure.refused.is_none() {
            let older = self.beginning.apply(&mut self.units);
            omitted.extend(older.iter().flat_map(Unit::versions));
        }
        Selection::Selected(Selected { units: self.units, truncated, omitted, orphans: Vec::new(), measure })
    }
}
