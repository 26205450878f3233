//! `GET /dashboard/settings/agents/{agent}/webhooks`: the webhooks of an agent, and their recent calls.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::page;
use crate::page::Page;
use crate::person::Person;
use crate::settings::agent_of;
use http_listener::state::HttpState;

pub(crate) async fn show_webhooks(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    page(&state, &person, agent, None, None).await
}
