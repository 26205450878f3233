//! Append events: a tool result answers an open call, a summary reaches further than the one before it, a history goes back
//! to what it has, nothing goes into an archived conversation.

use super::{Decision, Rejection, lifecycle_event};
use crate::bounds::OPEN_CALLS_MAX;
use crate::event::{
    Annotation, Event, EventTokens, Fact, HistoryRewound, HistorySummarised, Lifecycle, ToolCalled,
    ToolReturned,
};
use crate::head::{Head, OpenCall, RewindPlace, Status, SummaryPlace};
use crate::id::{CommitId, EventId, RunId};
use crate::json::JsonText;
use crate::position::Version;
use crate::time::Timestamp;

/// An event as its author gives it. Lifecycle facts have commands of their own and are never given here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The author's own id for it.
    pub id: Option<EventId>,
    /// When it happened.
    pub occurred_at: Option<Timestamp>,
    /// Whatever else is kept with it: a JSON object.
    pub metadata: Option<JsonText>,
    /// What a model reads of it, in tokens: the writer counts, not the author.
    pub tokens: u32,
    /// What happened.
    pub fact: Fact,
}

impl From<Fact> for NewEvent {
    /// A fact of which its author says nothing else.
    fn from(fact: Fact) -> Self {
        Self {
            id: None,
            occurred_at: None,
            metadata: None,
            tokens: 0,
            fact,
        }
    }
}

pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    events: &[NewEvent],
) -> Result<Decision, Rejection> {
    if head.status == Status::Archived {
        return Err(Rejection::Archived);
    }
    decided(head, commit, events).map(Decision::Commit)
}

/// Events, and behind them a fact of Hansard's own.
pub(super) fn ended_by(
    head: &Head,
    commit: CommitId,
    events: &[NewEvent],
    last: Lifecycle,
) -> Result<Vec<Event>, Rejection> {
    let mut decided = decided(head, commit, events)?;
    decided.push(Event {
        id: EventId::derived(commit, decided.len()),
        ..lifecycle_event(commit, last)
    });
    Ok(decided)
}

fn decided(head: &Head, commit: CommitId, events: &[NewEvent]) -> Result<Vec<Event>, Rejection> {
    let mut progress = Progress {
        version: head.version,
        open_calls: head.open_calls.clone(),
        latest_summary: head.latest_summary,
        latest_rewind: head.latest_rewind,
        active_run: head.active_run.map(|run| run.id),
    };
    let mut decided = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        decided.push(Event {
            id: event.id.unwrap_or_else(|| EventId::derived(commit, index)),
            occurred_at: event.occurred_at,
            metadata: event.metadata.clone(),
            tokens: EventTokens {
                own: event.tokens,
                through: 0,
            },
            fact: progress.take(index, &event.fact)?,
        });
    }
    Ok(decided)
}

/// The conversation as the events of the command move it on.
struct Progress {
    version: Version,
    open_calls: Vec<OpenCall>,
    latest_summary: Option<SummaryPlace>,
    latest_rewind: Option<RewindPlace>,
    active_run: Option<RunId>,
}

impl Progress {
    /// The next fact as it is recorded.
    fn take(&mut self, index: usize, fact: &Fact) -> Result<Fact, Rejection> {
        let taken = match fact {
            Fact::ToolCalled(call) => Fact::ToolCalled(self.open(index, call)?),
            Fact::ToolReturned(result) => Fact::ToolReturned(self.close(index, result)?),
            Fact::Annotation(Annotation::HistorySummarised(summary)) => {
                Fact::from(self.summarise(index, summary)?)
            }
            Fact::Annotation(Annotation::HistoryRewound(rewound)) => {
                Fact::from(self.rewind(index, *rewound)?)
            }
            Fact::MessageAppended(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => fact.clone(),
        };
        self.version = self.version.next();
        Ok(taken)
    }

    fn open(&mut self, index: usize, call: &ToolCalled) -> Result<ToolCalled, Rejection> {
        let is_open = |open: &OpenCall| open.call_id == call.call_id;
        if self.open_calls.iter().any(is_open) {
            return Err(Rejection::CallAlreadyOpen {
                index,
                call_id: call.call_id.clone(),
            });
        }
        if self.open_calls.len() >= OPEN_CALLS_MAX {
            return Err(Rejection::TooManyOpenCalls {
                index,
                open_max: OPEN_CALLS_MAX,
            });
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
        let Some(place) = self.open_calls.iter().position(is_answered) else {
            return Err(Rejection::CallNotOpen { index, call_id });
        };
        let call = self.open_calls.remove(place);
        match &result.tool_name {
            Some(named) if *named != call.tool_name => {
                Err(Rejection::ToolMismatch { index, call_id })
            }
            _ => Ok(ToolReturned {
                tool_name: Some(call.tool_name),
                ..result.clone()
            }),
        }
    }

    fn summarise(
        &mut self,
        index: usize,
        summary: &HistorySummarised,
    ) -> Result<HistorySummarised, Rejection> {
        if summary.through > self.version {
            return Err(Rejection::SummaryBeyondHistory {
                index,
                through: summary.through,
                last: self.version,
            });
        }
        let earlier = self.latest_summary.replace(SummaryPlace {
            version: self.version.next(),
            through: summary.through,
        });
        // One that was on its way when the history went back stands for what is passed over.
        if let Some(rewind) = self.latest_rewind
            && summary.through > rewind.to
            && summary.through < rewind.version
        {
            return Err(Rejection::SummaryStale {
                index,
                reached: rewind.version,
            });
        }
        // Without an earlier one it must reach past version 0: a summary of nothing stands for nothing.
        let reached = earlier.map_or(Version::ZERO, |earlier| earlier.through);
        if summary.through <= reached {
            return Err(Rejection::SummaryStale { index, reached });
        }
        Ok(HistorySummarised {
            previous: earlier.map(|earlier| earlier.version),
            ..summary.clone()
        })
    }

    fn rewind(
        &mut self,
        index: usize,
        rewound: HistoryRewound,
    ) -> Result<HistoryRewound, Rejection> {
        // What a run comes to is recorded at its end, and would stand behind the rewind.
        if let Some(run) = self.active_run {
            return Err(Rejection::RunActive { run });
        }
        let HistoryRewound { to } = rewound;
        if to > self.version {
            return Err(Rejection::RewindBeyondHistory {
                index,
                to,
                last: self.version,
            });
        }
        self.open_calls.retain(|call| call.version <= to);
        if let Some(summary) = &mut self.latest_summary
            && summary.version > to
        {
            summary.through = Version::ZERO;
        }
        self.latest_rewind = Some(RewindPlace {
            version: self.version.next(),
            to,
        });
        Ok(rewound)
    }
}
