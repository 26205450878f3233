//! `GET /dashboard/conversations/{id}/events/{version}`: one event as JSON, on a page.

use axum::extract::State;
use pages::dashboard::event::{EventPage, event};
use runtime::http::{HttpProblem, Path};

use super::read_event;
use crate::http::HttpState;
use crate::http::dashboard::conversations::show_conversation::event_json;
use crate::http::dashboard::conversations::{DashboardAction, record};
use crate::http::dashboard::{Page, Person};

pub(in crate::http::dashboard) async fn show_event(
    State(state): State<HttpState>,
    person: Person,
    Path((id, version)): Path<(String, u64)>,
) -> Result<Page, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let conversation = &target.key.conversation;
    let recorded = read_event(&state, &target, version).await?;
    let detail = format!("event {version}");
    record(
        &state,
        &person,
        DashboardAction::Viewed,
        conversation,
        &detail,
    )
    .await?;
    Ok(Page(event(EventPage {
        person: person.layout(),
        conversation: conversation.as_str(),
        version: recorded.version,
        json: &event_json(&recorded)?,
    })))
}
