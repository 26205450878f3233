//! Calls of tools, by the events that they are: those of a run, and those that waited before it began.

use domain::event::ToolCalled;
use domain::{CallId, EventId, Fact};
use history::{Direction, Query, Snapshot, Target, View};
use wire::status::Problem;

use super::head_of;
use super::run_key::RunKey;
use crate::Gateway;

/// A call, and the event that it is in the record, or will be once its run is finished.
#[derive(Debug, Clone)]
pub(super) struct Called {
    pub(super) event: EventId,
    pub(super) call: ToolCalled,
}

/// The calls among the facts of a run's step, of which `before` others stand before them among what the run comes to: the
/// commit that finishes the run gives its events their ids by their places.
pub(super) fn of_step(run: &RunKey, facts: &[Fact], before: usize) -> Vec<Called> {
    let facts = facts.iter().enumerate();
    let called = facts.filter_map(|(place, fact)| {
        let Fact::ToolCalled(call) = fact else {
            return None;
        };
        Some(Called {
            event: EventId::derived(run.finishing(), before + place),
            call: call.clone(),
        })
    });
    called.collect()
}

/// The calls among `wanted` that still wait for their result, in the order in which they were made.
///
/// # Errors
/// The record or the read model is away.
pub(super) async fn open(
    gateway: &Gateway,
    target: &Target,
    wanted: &[CallId],
) -> Result<Vec<Called>, Problem> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let head = head_of(gateway, &target.key).await?;
    let waiting = head.map(|head| head.open_calls).unwrap_or_default();
    let waiting = waiting
        .into_iter()
        .filter(|call| wanted.contains(&call.call_id));
    let snapshot = Snapshot::open(&gateway.reader, target).await?;
    let mut calls = Vec::new();
    for call in waiting {
        let query = Query {
            from: call.version,
            to: call.version,
            ..Query::all(Direction::Backward)
        };
        let made = snapshot.newest(query, View::Recorded).await?;
        let Some(made) = made.map(|made| made.event) else {
            continue;
        };
        if let Fact::ToolCalled(call) = made.fact {
            let event = made.id;
            calls.push(Called { event, call });
        }
    }
    Ok(calls)
}
