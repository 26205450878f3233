//! Append events. A tool result needs an open call, a summary covers more than the previous one, a rewind returns to an
//! existing version, and an archived conversation accepts nothing.

use super::{Decision, Rejection, lifecycle_event};
use crate::bounds::OPEN_CALLS_MAX;
use crate::event::{
    Annotation, Event, EventTokens, Fact, HistoryRewound, HistorySummarised, Lifecycle, ToolCalled, ToolReturned,
};
use crate::head::{Head, OpenCall, RewindPlace, Status, SummaryPlace};
use crate::id::{CommitId, EventId, RunId};
use crate::json::JsonText;
use crate::owner::Owner;
use crate::position::Version;
use crate::time::Timestamp;

/// An event of a caller. Lifecycle facts have commands of their own and do not occur here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The caller's id for it.
    pub id: Option<EventId>,
    /// When it happened.
    pub occurred_at: Option<Timestamp>,
    /// A JSON object of the caller.
    pub metadata: Option<JsonText>,
    /// Its tokens in a context. The writer counts them, not the caller.
    pub tokens: u32,
    /// What happened.
    pub fact: Fact,
}

impl From<Fact> for NewEvent {
    /// An event with nothing but its fact.
    fn from(fact: Fact) -> Self {
        Self { id: None, occurred_at: None, metadata: None, tokens: 0, fact }
    }
}

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    events: &[NewEvent],
    expected: Option<&Owner>,
) -> Result<Decision, Rejection> {
    if expected.is_some() && expected != head.owner.as_ref() {
        return Err(Rejection::OwnerMismatch);
    }
    if head.status == Status::Archived {
        return Err(Rejection::Archived);
    }
    let progress = Progress::after(head);
    progress.record_all(commit, 0, events).map(Decision::Commit)
}

/// The events after the first one of a new conversation, which has this version.
pub(super) fn after_creation(version: Version, commit: CommitId, events: &[NewEvent]) -> Result<Vec<Event>, Rejection> {
    let progress = Progress { version, ..Progress::default() };
    progress.record_all(commit, 1, events)
}

/// Events, followed by a lifecycle fact.
pub(super) fn followed_by(
    head: &Head,
    commit: CommitId,
    events: &[NewEvent],
    last: Lifecycle,
) -> Result<Vec<Event>, Rejection> {
    let mut recorded = Progress::after(head).record_all(commit, 0, events)?;
    push_last(&mut recorded, commit, last);
    Ok(recorded)
}

/// Adds a lifecycle fact after the other events of a commit.
pub(super) fn push_last(recorded: &mut Vec<Event>, commit: CommitId, last: Lifecycle) {
    recorded.push(Event { id: EventId::derived(commit, recorded.len()), ..lifecycle_event(commit, last) });
}

/// The state of the conversation before the next event of the command.
#[derive(Default)]
struct Progress {
    version: Version,
    open_calls: Vec<OpenCall>,
    latest_summary: Option<SummaryPlace>,
    latest_rewind: Option<RewindPlace>,
    active_run: Option<RunId>,
}

impl Progress {
    fn after(head: &Head) -> Self {
        Self {
            version: head.version,
            open_calls: head.open_calls.clone(),
            latest_summary: head.latest_summary,
            latest_rewind: head.latest_rewind,
            active_run: head.active_run.map(|run| run.id),
        }
    }

    /// The events as the record contains them; `preceding`: the number of events before them in the commit.
    fn record_all(mut self, commit: CommitId, preceding: usize, events: &[NewEvent]) -> Result<Vec<Event>, Rejection> {
        let mut recorded = Vec::with_capacity(events.len());
        for (index, event) in events.iter().enumerate() {
            let id = event.id;
            recorded.push(Event {
                id: id.unwrap_or_else(|| EventId::derived(commit, preceding + index)),
                occurred_at: event.occurred_at,
                metadata: event.metadata.clone(),
                tokens: EventTokens { own: event.tokens, through: 0 },
                fact: self.take(index, &event.fact)?,
            });
        }
        Ok(recorded)
    }

    /// The next fact as the record contains it.
    fn take(&mut self, index: usize, fact: &Fact) -> Result<Fact, Rejection> {
        let recorded = match fact {
            Fact::ToolCalled(call) => Fact::ToolCalled(self.open(index, call)?),
            Fact::ToolReturned(result) => Fact::ToolReturned(self.close(index, result)?),
            Fact::Annotation(Annotation::HistorySummarised(summary)) => Fact::from(self.summarise(index, summary)?),
            Fact::Annotation(Annotation::HistoryRewound(rewound)) => Fact::from(self.rewind(index, *rewound)?),
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => fact.clone(),
        };
        self.version = self.version.next();
        Ok(recorded)
    }

    fn open(&mut self, index: usize, call: &ToolCalled) -> Result<ToolCalled, Rejection> {
        let is_open = |open: &OpenCall| open.call_id == call.call_id;
        if self.open_calls.iter().any(is_open) {
            return Err(Rejection::CallAlreadyOpen { index, call_id: call.call_id.clone() });
        }
        if self.open_calls.len() >= OPEN_CALLS_MAX {
            return Err(Rejection::TooManyOpenCalls { index, open_max: OPEN_CALLS_MAX });
        }
        self.open_calls.push(OpenCall {
            call_id: call.call_id.clone(),
            tool_name: call.tool_name.clone(),
            version: self.version.next(),
        });
        Ok(call.clone())
    }

    fn close(&mut self, index: usize, result: &ToolReturned) -> Result<ToolReturned, Rejection> {
        let call_id = result.call_id.clone();
        let is_answered = |open: &OpenCall| open.call_id == call_id;
        let Some(position) = self.open_calls.iter().position(is_answered) else {
            return Err(Rejection::CallNotOpen { index, call_id });
        };
        let call = self.open_calls.remove(position);
        match &result.tool_name {
            Some(name) if *name != call.tool_name => Err(Rejection::ToolMismatch { index, call_id }),
            _ => Ok(ToolReturned { tool_name: Some(call.tool_name), ..result.clone() }),
        }
    }

    fn summarise(&mut self, index: usize, summary: &HistorySummarised) -> Result<HistorySummarised, Rejection> {
        if summary.through > self.version {
            return Err(Rejection::SummaryBeyondHistory { index, through: summary.through, last: self.version });
        }
        let earlier =
            self.latest_summary.replace(SummaryPlace { version: self.version.next(), through: summary.through });
        // A summary that was requested before the rewind may cover versions that the rewind hides.
        if let Some(rewind) = self.latest_rewind
            && summary.through > rewind.to
            && summary.through < rewind.version
        {
            return Err(Rejection::SummaryStale { index, reached: rewind.version });
        }
        // The first summary must cover at least version 1.
        let reached = earlier.map_or(Version::ZERO, |earlier| earlier.through);
        if summary.through <= reached {
            return Err(Rejection::SummaryStale { index, reached });
        }
        Ok(HistorySummarised { previous: earlier.map(|earlier| earlier.version), ..summary.clone() })
    }

    fn rewind(&mut self, index: usize, rewound: HistoryRewound) -> Result<HistoryRewound, Rejection> {
        // The events of a run are recorded at its end, which would follow the rewind.
        if let Some(run) = self.active_run {
            return Err(Rejection::RunActive { run });
        }
        let HistoryRewound { to } = rewound;
        if to > self.version {
            return Err(Rejection::RewindBeyondHistory { index, to, last: self.version });
        }
        self.open_calls.retain(|call| call.version <= to);
        if let Some(summary) = &mut self.latest_summary
            && summary.version > to
        {
            summary.through = Version::ZERO;
        }
        self.latest_rewind = Some(RewindPlace { version: self.version.next(), to });
        Ok(rewound)
    }
}
