//! `POST /dashboard/conversations/{id}/restore`: opens an archived conversation again.

use axum::extract::State;
use axum::response::Redirect;
use runtime::http::{HttpProblem, Path};
use wire::proto::write::v1::RestoreConversationRequest;

use super::change;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn restore(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Redirect, HttpProblem> {
    let command = |target| RestoreConversationRequest { target: Some(target) };
    change(&state, &person, &id, ("restore", command)).await
}
