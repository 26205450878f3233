//! `POST /dashboard/conversations/{id}/archive`: closes a conversation for events.

use axum::extract::State;
use axum::response::Redirect;
use runtime::http::{HttpProblem, Path};
use wire::proto::write::v1::ArchiveConversationRequest;

use super::{DashboardAction, command, record, transcript_of};
use crate::person::Person;
use conversations::commands::Issuer;
use http_listener::state::HttpState;

pub(crate) async fn archive(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Redirect, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let conversation = &target.key.conversation;
    let action = DashboardAction::Changed;
    record(&state, &person, action, conversation, "archive").await?;
    let request = ArchiveConversationRequest { target: Some(command(&target)) };
    state.commands.send(Issuer::Gateway, request).await?;
    Ok(transcript_of(&target))
}
