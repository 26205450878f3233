//! `GET /dashboard/conversations/{id}/export`: every event as a file.

use axum::extract::State;
use axum::response::Response;
use runtime::http::{HttpProblem, Path, Query, StreamSlot};

use super::{DashboardAction, record};
use crate::person::Person;
use conversations::open::read_fenced;
use http_listener::export::{Export, ExportQuery};
use http_listener::state::HttpState;

pub(crate) async fn export_conversation(
    open: StreamSlot,
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Query(query): Query<ExportQuery>,
) -> Result<Response, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let (target, conversation) = read_fenced(&state, target).await?;
    let (action, format) = (DashboardAction::Exported, query.format.extension());
    record(&state, &person, action, &target.key.conversation, format).await?;
    let name = format!("conversation-{}", conversation.id.as_str().replace(':', "-"));
    let export = Export::new(state.gateway.clone(), target, conversation, query.format);
    Ok(export.respond(open, &name))
}
