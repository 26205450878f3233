//! `POST /dashboard/settings/agents/{agent}`: changes the settings that differ from the current ones.

use axum::extract::State;
use axum::http::StatusCode;
use pages::components::Tone;
use prost_types::FieldMask;
use runtime::http::{HttpProblem, Path};
use wire::proto::operate::v1::{Agent, AgentSettings, SetAgentSettingsRequest};

use super::settings_form::{SettingsForm, changed};
use super::{StatusPage, page, revision};
use crate::form::Form;
use crate::page::Page;
use crate::person::Person;
use crate::settings::rejection::rejection;
use crate::settings::{agent_of, registry};
use http_listener::state::HttpState;

/// Someone else has saved after this form was shown.
const CONFLICT: &str = "Nothing was saved: the settings were changed after you opened this page. Your text is below. Compare it \
     with the current settings in another tab; saving again replaces them by your text.";

pub(crate) async fn save_settings(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<StatusPage, HttpProblem> {
    let current = agent_of(&state, &person, &id)?.settings.unwrap_or_default();
    let shown = revision(&current);
    let mut form = SettingsForm::typed(&fields);
    let answer = |status, form: &SettingsForm, notice| Ok((status, page(&person, &id, form, &shown, notice)));
    let Some(settings) = form.settings() else {
        return answer(StatusCode::BAD_REQUEST, &form, None);
    };
    let names = changed(&current, &settings);
    if names.is_empty() {
        let notice = (Tone::Neutral, "Nothing was changed.");
        return answer(StatusCode::OK, &form, Some(notice));
    }
    if !is_of(&fields, &shown) {
        return answer(StatusCode::CONFLICT, &form, Some((Tone::Bad, CONFLICT)));
    }
    let request = request(&id, settings, names.clone());
    match registry(&state, &person).set_agent_settings(request).await {
        Ok(answer) => {
            let agent = answer.into_inner().agent;
            Ok((StatusCode::OK, saved(&person, agent, &names)))
        }
        Err(status) => {
            let rejection = rejection(status)?;
            let is_at_field = form.reject(&rejection);
            let notice = (Tone::Bad, rejection.detail.as_str());
            answer(rejection.status, &form, (!is_at_field).then_some(notice))
        }
    }
}

/// Whether the form changes this revision.
fn is_of(fields: &[(String, String)], revision: &str) -> bool {
    let mut fields = fields.iter();
    fields.any(|(name, text)| name == "revision" && text == revision)
}

fn request(id: &str, settings: AgentSettings, paths: Vec<String>) -> SetAgentSettingsRequest {
    SetAgentSettingsRequest {
        agent_id: id.to_owned(),
        settings: Some(settings),
        update_mask: Some(FieldMask { paths }),
    }
}

/// The page of the saved settings, from the writer's answer: this gateway's registry may be a moment behind.
fn saved(person: &Person, agent: Option<Agent>, names: &[String]) -> Page {
    let agent = agent.unwrap_or_default();
    let settings = agent.settings.unwrap_or_default();
    let text = format!("Saved: {}.", names.join(", "));
    let notice = Some((Tone::Good, text.as_str()));
    let form = SettingsForm::of(&settings);
    page(person, &agent.agent_id, &form, &revision(&settings), notice)
}
