//! `POST /dashboard/settings/agents/{agent}/keys`: creates an API key. Its page shows the secret, for the only time.

use axum::extract::State;
use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::api_keys::RejectedKeyForm;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::operate::v1::CreateApiKeyRequest;

use super::{StatusPage, created, origins, rejected};
use crate::form::Form;
use crate::person::Person;
use crate::settings::rejection::rejection;
use crate::settings::{agent_of, registry};
use http_listener::state::HttpState;

/// The form of a new key.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct NewKey {
    /// The purpose.
    #[serde(default)]
    name: String,
    /// The web origins, one a line.
    #[serde(default)]
    origins: String,
}

pub(crate) async fn create_key(
    State(state): State<HttpState>,
    person: Person,
    Path(agent): Path<String>,
    Form(form): Form<NewKey>,
) -> Result<StatusPage, HttpProblem> {
    agent_of(&state, &person, &agent)?;
    let request = CreateApiKeyRequest {
        agent_id: agent.clone(),
        display_name: form.name.clone(),
        allowed_origins: origins(&form.origins),
        expires_at: None,
    };
    match registry(&state, &person).create_api_key(request).await {
        Ok(answer) => {
            let answer = answer.into_inner();
            let key = answer.api_key.unwrap_or_default();
            let new = NewSecret { name: &format!("API key {}", key.api_key_id), secret: &answer.secret };
            created(&state, &person, &agent, new).await
        }
        Err(status) => {
            let rejection = rejection(status)?;
            let form = RejectedKeyForm {
                name: &form.name,
                origins: &form.origins,
                error: &rejection.detail,
                ..RejectedKeyForm::default()
            };
            rejected(&state, &person, &agent, rejection.status, form).await
        }
    }
}
