//! `GET /dashboard/settings/agents/{agent}`: the settings of an agent.

use axum::extract::State;
use runtime::http::{HttpProblem, Path};

use super::settings_form::SettingsForm;
use super::{page, revision};
use crate::page::Page;
use crate::person::Person;
use crate::settings::agent_of;
use http_listener::state::HttpState;

pub(crate) async fn show_settings(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    let settings = agent.settings.unwrap_or_default();
    let form = SettingsForm::of(&settings);
    Ok(page(&person, &id, &form, &revision(&settings), None))
}
