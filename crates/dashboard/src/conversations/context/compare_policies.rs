//! `POST /dashboard/conversations/{id}/context`: the same with another policy beside it. Changes nothing; a policy is too long
//! for a URL.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::ContextQuery;
use super::inspection::inspect;
use crate::form::Form;
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn compare_policies(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(query): Form<ContextQuery>,
) -> Result<Page, HttpProblem> {
    inspect(&state, &person, &id, query).await
}
