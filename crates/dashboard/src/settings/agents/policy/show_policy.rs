//! `GET /dashboard/settings/agents/{agent}/policy`: the context policy of an agent.

use axum::extract::State;
use pages::dashboard::settings::policy::Preview;
use runtime::http::{HttpProblem, Path};

use super::{current, digest_of, form_of, page};
use crate::page::Page;
use crate::person::Person;
use crate::settings::agent_of;
use http_listener::state::HttpState;

pub(crate) async fn show_policy(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    let json = current(&state, &person, &agent).await.unwrap_or_default();
    let form = form_of(&json, digest_of(&agent));
    Ok(page(&person, &agent, &form, &Preview::None, None))
}
