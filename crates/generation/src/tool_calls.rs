//! Tool calls with the ids of their events: those of the current run, and open ones from before it.

use domain::event::ToolCalled;
use domain::{CallId, EventId, Fact};
use history::{Direction, Range, Snapshot, Target, View};
use wire::status::Problem;

use super::{RunKey, read_head};
use record_access::Gateway;

/// A tool call and the id of its event. The event is in the record once its run is finished.
#[derive(Debug, Clone)]
pub(super) struct CallEvent {
    pub(super) event: EventId,
    pub(super) call: ToolCalled,
}

/// The tool calls of a step. `offset` is the number of facts of the run before this step: the finishing commit derives the
/// ids of its events from their indexes.
pub(super) fn from_step(run: &RunKey, facts: &[Fact], offset: usize) -> Vec<CallEvent> {
    let facts = facts.iter().enumerate();
    let calls = facts.filter_map(|(index, fact)| {
        let Fact::ToolCalled(call) = fact else {
            return None;
        };
        Some(CallEvent { event: EventId::derived(run.run.finish_commit(), offset + index), call: call.clone() })
    });
    calls.collect()
}

/// The calls of `wanted` that are open, in the order of their events.
///
/// # Errors
/// The record or the read model is unavailable.
pub(super) async fn read_open(
    gateway: &Gateway,
    target: &Target,
    wanted: &[CallId],
) -> Result<Vec<CallEvent>, Problem> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let head = read_head(gateway, &target.key).await?;
    let open =
        head.map(|head| head.open_calls).unwrap_or_default().into_iter().filter(|call| wanted.contains(&call.call_id));
    let snapshot = Snapshot::open(&gateway.reader, target).await?;
    let mut calls = Vec::new();
    for call in open {
        let range = Range { from: call.version, to: call.version, ..Range::all(Direction::Backward) };
        let recorded = snapshot.newest(range, View::Recorded).await?;
        if let Some(event) = recorded.map(|recorded| recorded.event)
            && let Fact::ToolCalled(call) = event.fact
        {
            let event = event.id;
            calls.push(CallEvent { event, call });
        }
    }
    Ok(calls)
}
