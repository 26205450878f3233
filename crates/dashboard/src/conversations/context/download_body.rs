//! `GET /dashboard/conversations/{id}/context/body`: the body of a context as a file, byte for byte as it is sent.

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Path, Query};

use super::ContextQuery;
use super::inspection::{assemble_at, format_of};
use crate::conversations::{DashboardAction, record};
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn download_body(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Query(query): Query<ContextQuery>,
) -> Result<Response, HttpProblem> {
    let format = format_of(&query)?;
    let target = person.admin.target(&state, &id).await?;
    let conversation = &target.key.conversation;
    record(&state, &person, DashboardAction::Viewed, conversation, "context").await?;
    let assembled = assemble_at(&state, &target, query.version, format, None).await?;
    let file = format!("attachment; filename=\"context-{format}.json\"");
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CONTENT_DISPOSITION, file)];
    Ok((headers, assembled.body).into_response())
}
