//! `POST /dashboard/conversations/{id}/context`: the same with another policy beside it. Changes nothing; a policy is too long
//! for a URL.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::ContextQuery;
use super::inspection::inspect;
use crate::http::dashboard::{Form, Page, Person};
use http_listener::state::HttpState;

pub(in crate::http::dashboard) async fn compare_policies(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(query): Form<ContextQuery>,
) -> Result<Page, HttpProblem> {
    inspect(&state, &person, &id, query).await
}
