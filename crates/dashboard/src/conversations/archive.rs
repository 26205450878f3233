//! `POST /dashboard/conversations/{id}/archive`: closes a conversation for events.

use axum::extract::State;
use axum::response::Redirect;
use runtime::http::{HttpProblem, Path};
use wire::proto::write::v1::ArchiveConversationRequest;

use super::change;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn archive(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Redirect, HttpProblem> {
    let command = |target| ArchiveConversationRequest { target: Some(target) };
    change(&state, &person, &id, ("archive", command)).await
}
