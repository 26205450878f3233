//! `GET /dashboard/settings/agents/{agent}/webhooks`: the webhooks of an agent, and their recent calls.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::page;
use crate::http::dashboard::settings::agent_of;
use crate::http::dashboard::{Page, Person};
use http_listener::state::HttpState;

pub(in crate::http::dashboard) async fn show_webhooks(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    page(&state, &person, agent, None, None).await
}
