//! `GET /dashboard/settings/agents/{agent}`: the settings of an agent.

use axum::extract::State;
use event_log::registry::settings_of;
use runtime::http::{HttpProblem, Path};

use super::settings_form::SettingsForm;
use super::{page, revision};
use crate::http::HttpState;
use crate::http::dashboard::settings::agent_of;
use crate::http::dashboard::{Page, Person};

pub(in crate::http::dashboard) async fn show_settings(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
) -> Result<Page, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    let settings = settings_of(agent);
    let form = SettingsForm::of(&settings);
    Ok(page(&person, &id, &form, &revision(&settings), None))
}
