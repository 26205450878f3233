//! Calls that waited before a run began: those that a person has approved meanwhile.

use domain::event::ToolCalled;
use domain::{CallId, Fact};
use wire::status::Problem;

use super::head_of;
use crate::Gateway;
use crate::history;
use crate::request::Target;

/// The calls among `wanted` that still wait for their result, in the order in which they were made.
///
/// # Errors
/// The record or the read model is away.
pub(super) async fn open(
    gateway: &Gateway,
    target: &Target,
    wanted: &[CallId],
) -> Result<Vec<ToolCalled>, Problem> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let head = head_of(gateway, &target.key).await?;
    let waiting = head.map(|head| head.open_calls).unwrap_or_default();
    let waiting = waiting
        .into_iter()
        .filter(|call| wanted.contains(&call.call_id));
    let mut calls = Vec::new();
    for call in waiting {
        let made = history::newest(gateway, target, call.version..=call.version, &[]).await?;
        if let Some(Fact::ToolCalled(call)) = made.map(|made| made.event.fact) {
            calls.push(call);
        }
    }
    Ok(calls)
}
