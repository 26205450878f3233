//! `GET /dashboard/conversations/{id}/events/{version}`: one event as JSON, on a page.

use axum::extract::State;
use domain::Version;
use pages::dashboard::event::{EventPage, event};
use runtime::http::{HttpProblem, Path};

use super::viewed_event;
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn show_event(
    State(state): State<HttpState>,
    person: Person,
    Path((id, version)): Path<(String, u64)>,
) -> Result<Page, HttpProblem> {
    let target = person.admin.target(&state, &id).await?;
    let json = viewed_event(&state, &person, &target, version).await?;
    Ok(Page(event(EventPage {
        person: person.layout(),
        conversation: target.key.conversation.as_str(),
        version: Version(version),
        json: &json,
    })))
}
