//! `GET /dashboard/settings/agents/{agent}/keys`: the API keys of an agent.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::{Shown, page};
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn list_keys(
    State(state): State<HttpState>,
    person: Person,
    Path(agent): Path<String>,
) -> Result<Page, HttpProblem> {
    page(&state, &person, &agent, Shown::default()).await
}
