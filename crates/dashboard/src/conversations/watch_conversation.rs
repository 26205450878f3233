//! `GET /dashboard/conversations/{id}/stream`: the events of a conversation, live, for the script of its page.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, StreamSlot};

use super::{DashboardAction, record};
use crate::person::Person;
use http_listener::live::{self, LiveRequest};
use http_listener::state::HttpState;

pub(crate) async fn watch_conversation(
    State(state): State<HttpState>,
    open: StreamSlot,
    person: Person,
    Path(id): Path<String>,
    request: LiveRequest,
) -> Result<Response, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let conversation = &target.key.conversation;
    record(&state, &person, DashboardAction::Viewed, conversation, "live").await?;
    live::respond(&state, open, request, target.into()).await
}
