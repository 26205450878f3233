//! Checks the rules of a conversation event by event.

use std::collections::BTreeMap;

use domain::event::HistorySummarised;
use domain::head::SummaryPlace;
use domain::{Annotation, CallId, Event, Fact, Lifecycle, Owner, RunId, Status, ToolName, Version};

/// The state that the check keeps of a conversation.
#[derive(Debug, Clone, Default)]
pub(super) struct RuleChecker {
    open: BTreeMap<CallId, ToolName>,
    status: Option<Status>,
    version: Version,
    summary: Option<SummaryPlace>,
    tokens: u64,
    owner: Option<Owner>,
    run: Option<RunId>,
}

impl RuleChecker {
    /// Processes the next event; returns the broken rule.
    pub(super) fn take(&mut self, event: &Event) -> Option<&'static str> {
        let broken = self.take_fact(&event.fact);
        self.version = self.version.next();
        broken.or_else(|| self.check_tokens(event))
    }

    fn check_tokens(&mut self, event: &Event) -> Option<&'static str> {
        if is_read_in_place(&event.fact) {
            self.tokens += u64::from(event.tokens.own);
        }
        let differs = event.tokens.through != self.tokens;
        differs.then_some("its tokens are not the sum")
    }

    fn take_fact(&mut self, fact: &Fact) -> Option<&'static str> {
        match (self.status, fact) {
            (None, Fact::Lifecycle(Lifecycle::ConversationCreated(created))) => {
                self.status = Some(Status::Active);
                self.owner = Some(created.owner.clone());
                self.version = created.forked_from.as_ref().map_or(self.version, |fork| fork.version);
                return None;
            }
            (None, _) => return Some("an event precedes the creation"),
            (Some(_), Fact::Lifecycle(Lifecycle::ConversationCreated(_))) => {
                return Some("it was created twice");
            }
            (Some(Status::Erased), _) => return Some("an event follows the erasure"),
            (Some(Status::Active), Fact::Lifecycle(Lifecycle::ConversationRestored)) => {
                return Some("restored while it was active");
            }
            (Some(Status::Archived), fact) if self.run.is_none() && !is_allowed_in_archive(fact) => {
                return Some("an event while it was archived");
            }
            (Some(Status::Active | Status::Archived), _) => {}
        }
        self.apply(fact)
    }

    fn apply(&mut self, fact: &Fact) -> Option<&'static str> {
        match fact {
            Fact::ToolCalled(call) => {
                let earlier = self.open.insert(call.call_id.clone(), call.tool_name.clone());
                earlier.map(|_| "a call is made twice")
            }
            Fact::ToolReturned(result) => match self.open.remove(&result.call_id) {
                None => Some("a result has no open call"),
                Some(tool) if result.tool_name.as_ref() != Some(&tool) => {
                    Some("a result names another tool than its call")
                }
                Some(_) => None,
            },
            Fact::Annotation(Annotation::HistorySummarised(summary)) => self.summarise(summary),
            Fact::Annotation(Annotation::HistoryRewound(_)) => Some("a rewind that nobody requested"),
            Fact::Lifecycle(lifecycle) => self.apply_lifecycle(lifecycle),
            Fact::MessageAppended(_) | Fact::Annotation(_) => None,
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "the other facts follow no rule of order")]
    fn apply_lifecycle(&mut self, lifecycle: &Lifecycle) -> Option<&'static str> {
        match lifecycle {
            Lifecycle::ConversationArchived => self.change_status(Status::Archived),
            Lifecycle::ConversationRestored => self.change_status(Status::Active),
            Lifecycle::ConversationErased => self.change_status(Status::Erased),
            Lifecycle::OwnerChanged(changed) => {
                let before = self.owner.replace(changed.owner.clone());
                (before.as_ref() != Some(&changed.previous))
                    .then_some("it changed hands from somebody who did not own it")
            }
            Lifecycle::RunStarted(started) => {
                let before = self.run.replace(started.run);
                before.map(|_| "a run started while another went on")
            }
            Lifecycle::RunStopRequested(run) => self.names_active(*run),
            Lifecycle::RunFinished(finished) => {
                let is_active = self.names_active(finished.run);
                self.run = None;
                is_active
            }
            _ => None,
        }
    }

    fn names_active(&self, run: RunId) -> Option<&'static str> {
        (self.run != Some(run)).then_some("the event names a run that is not active")
    }

    fn summarise(&mut self, summary: &HistorySummarised) -> Option<&'static str> {
        let earlier = self.summary.replace(SummaryPlace { version: self.version.next(), through: summary.through });
        if summary.through > self.version {
            return Some("a summary reaches past what was before it");
        }
        if summary.through <= earlier.map_or(Version::ZERO, |earlier| earlier.through) {
            return Some("a summary reaches no further than an earlier one");
        }
        let is_named = summary.previous == earlier.map(|earlier| earlier.version);
        (!is_named).then_some("a summary names another than the one before it")
    }

    fn change_status(&mut self, status: Status) -> Option<&'static str> {
        self.status = Some(status);
        None
    }
}

/// Whether contexts contain the fact unchanged.
pub(super) fn is_read_in_place(fact: &Fact) -> bool {
    matches!(fact, Fact::MessageAppended(_) | Fact::ToolCalled(_) | Fact::ToolReturned(_))
}

fn is_allowed_in_archive(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Lifecycle(Lifecycle::ConversationRestored | Lifecycle::ConversationErased | Lifecycle::OwnerChanged(_))
    )
}
