//! Calls that waited before a run began: those that a person has approved meanwhile.

use domain::event::ToolCalled;
use domain::{CallId, Fact};
use wire::status::Problem;

use super::head_of;
use crate::Gateway;
use crate::fresh::Place;
use crate::history::{self, Range};
use crate::page::PageBounds;
use crate::request::Target;
use crate::window;

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
        let range = Range {
            from: call.version,
            to: call.version,
            kinds: [].into(),
            after: Place::default(),
            bounds: PageBounds {
                events_max: 1,
                bytes_max: 1,
            },
        };
        let page = history::forward(gateway, target, &range).await?;
        if let Some(row) = page.events.first()
            && let Fact::ToolCalled(call) = window::recorded(&target.key, row)?.event.fact
        {
            calls.push(call);
        }
    }
    Ok(calls)
}
