//! `/dashboard/conversations/{id}/events/{version}`: one event, whole.

pub mod download_event;
pub mod show_event;

use axum::http::StatusCode;
use domain::{RecordedEvent, Version};
use history::{Direction, Snapshot, Target, View};
use runtime::http::HttpProblem;

use crate::http::HttpState;
use crate::http::owned_chat::from_read_error;

/// An event of a conversation, also one that a rewind hides or that a fork inherits.
async fn read_event(
    state: &HttpState,
    target: &Target,
    version: u64,
) -> Result<RecordedEvent, HttpProblem> {
    let query = history::Query {
        from: Version(version),
        to: Version(version),
        ..history::Query::all(Direction::Backward)
    };
    let snapshot = Snapshot::open(&state.gateway.reader, target).await;
    let snapshot = snapshot.map_err(from_read_error)?;
    let event = snapshot.newest(query, View::Recorded).await;
    event.map_err(from_read_error)?.ok_or_else(|| {
        let newest = snapshot.position().version;
        let detail =
            format!("there is no event {version}: give one from 1 to {newest}, the last version");
        HttpProblem::new(StatusCode::NOT_FOUND, "EVENT_NOT_FOUND", detail)
    })
}
