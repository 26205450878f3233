//! `/dashboard/conversations/{id}/events/{version}`: one event, whole.

pub mod download_event;
pub mod show_event;

use axum::http::StatusCode;
use domain::{RecordedEvent, Version};
use history::{Direction, Snapshot, Target, View};
use runtime::http::HttpProblem;

use super::show_conversation::event_json;
use super::{DashboardAction, record};
use crate::person::Person;
use http_listener::state::HttpState;

/// The JSON of an event that a person views, after the view is in the audit log.
async fn viewed_event(
    state: &HttpState,
    person: &Person,
    target: &Target,
    version: u64,
) -> Result<String, HttpProblem> {
    let recorded = read_event(state, target, version).await?;
    let detail = format!("event {version}");
    let conversation = &target.key.conversation;
    record(state, person, DashboardAction::Viewed, conversation, &detail).await?;
    event_json(&recorded)
}

/// An event of a conversation, also one that a rewind hides or that a fork inherits.
async fn read_event(state: &HttpState, target: &Target, version: u64) -> Result<RecordedEvent, HttpProblem> {
    let query =
        history::Range { from: Version(version), to: Version(version), ..history::Range::all(Direction::Backward) };
    let snapshot = Snapshot::open(&state.gateway.reader, target).await?;
    let event = snapshot.newest(query, View::Recorded).await;
    event?.ok_or_else(|| {
        let newest = snapshot.position().version;
        let detail = format!("there is no event {version}: give one from 1 to {newest}, the last version");
        HttpProblem::new(StatusCode::NOT_FOUND, "EVENT_NOT_FOUND", detail)
    })
}
