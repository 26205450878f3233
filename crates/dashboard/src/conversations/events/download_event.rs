//! `GET /dashboard/conversations/{id}/events/{version}/download`: one event as a file.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Path};

use super::viewed_event;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn download_event(
    State(state): State<HttpState>,
    person: Person,
    Path((id, version)): Path<(String, u64)>,
) -> Result<Response, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let json = viewed_event(&state, &person, &target, version).await?;
    let file = format!("attachment; filename=\"event-{version}.json\"");
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_DISPOSITION, file)];
    Ok((headers, json).into_response())
}
