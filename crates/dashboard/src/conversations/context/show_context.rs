//! `GET /dashboard/conversations/{id}/context`: what the model reads at a version.

use axum::extract::State;
use runtime::http::{HttpProblem, Path, Query};

use super::ContextQuery;
use super::inspection::inspect;
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn show_context(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Query(query): Query<ContextQuery>,
) -> Result<Page, HttpProblem> {
    inspect(&state, &person, &id, query).await
}
