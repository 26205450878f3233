//! Append events: a tool result answers an open call, nothing goes into an archived conversation.

use super::{Decision, Rejection};
use crate::bounds::OPEN_CALLS_MAX;
use crate::conversation::Status;
use crate::event::{Event, Fact, ToolCalled, ToolReturned};
use crate::head::{Head, OpenCall};
use crate::id::{CommitId, EventId};
use crate::json::JsonText;
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
    /// What happened.
    pub fact: Fact,
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other fact stands for itself"
)]
pub(super) fn decide(
    head: &Head,
    commit: CommitId,
    events: &[NewEvent],
) -> Result<Decision, Rejection> {
    if head.status == Status::Archived {
        return Err(Rejection::Archived);
    }
    let mut open_calls = head.open_calls.clone();
    let mut decided = Vec::with_capacity(events.len());
    for (index, event) in events.iter().enumerate() {
        let fact = match &event.fact {
            Fact::ToolCalled(call) => Fact::ToolCalled(open(&mut open_calls, index, call)?),
            Fact::ToolReturned(result) => {
                Fact::ToolReturned(close(&mut open_calls, index, result)?)
            }
            plain => plain.clone(),
        };
        decided.push(Event {
            id: event.id.unwrap_or_else(|| EventId::derived(commit, index)),
            occurred_at: event.occurred_at,
            metadata: event.metadata.clone(),
            fact,
        });
    }
    Ok(Decision::Commit(decided))
}

fn open(
    open_calls: &mut Vec<OpenCall>,
    index: usize,
    call: &ToolCalled,
) -> Result<ToolCalled, Rejection> {
    if open_calls.iter().any(|open| open.call_id == call.call_id) {
        return Err(Rejection::CallAlreadyOpen {
            index,
            call_id: call.call_id.clone(),
        });
    }
    if open_calls.len() >= OPEN_CALLS_MAX {
        return Err(Rejection::TooManyOpenCalls {
            index,
            open_max: OPEN_CALLS_MAX,
        });
    }
    open_calls.push(OpenCall {
        call_id: call.call_id.clone(),
        tool_name: call.tool_name.clone(),
        version: crate::position::Version::ZERO,
    });
    Ok(call.clone())
}

fn close(
    open_calls: &mut Vec<OpenCall>,
    index: usize,
    result: &ToolReturned,
) -> Result<ToolReturned, Rejection> {
    let call_id = result.call_id.clone();
    let Some(place) = open_calls.iter().position(|open| open.call_id == call_id) else {
        return Err(Rejection::CallNotOpen { index, call_id });
    };
    let call = open_calls.remove(place);
    match &result.tool_name {
        Some(named) if *named != call.tool_name => Err(Rejection::ToolMismatch { index, call_id }),
        _ => Ok(ToolReturned {
            tool_name: Some(call.tool_name),
            ..result.clone()
        }),
    }
}
