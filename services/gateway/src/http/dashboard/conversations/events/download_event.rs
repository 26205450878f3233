//! `GET /dashboard/conversations/{id}/events/{version}/download`: one event as a file.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Path};

use super::read_event;
use crate::http::HttpState;
use crate::http::dashboard::Person;
use crate::http::dashboard::conversations::show_conversation::event_json;
use crate::http::dashboard::conversations::{DashboardAction, record};

pub(in crate::http::dashboard) async fn download_event(
    State(state): State<HttpState>,
    person: Person,
    Path((id, version)): Path<(String, u64)>,
) -> Result<Response, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let conversation = &target.key.conversation;
    let recorded = read_event(&state, &target, version).await?;
    let detail = format!("event {version}");
    record(
        &state,
        &person,
        DashboardAction::Viewed,
        conversation,
        &detail,
    )
    .await?;
    let file = format!("attachment; filename=\"event-{version}.json\"");
    let headers = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (header::CONTENT_DISPOSITION, file),
    ];
    Ok((headers, event_json(&recorded)?).into_response())
}
