//! `POST /dashboard/settings/agents/{agent}/webhooks/secret`: creates a new secret for the signatures of webhook calls. Its page
//! shows the secret, for the only time.

use axum::extract::State;
use axum::http::StatusCode;
use pages::dashboard::settings::NewSecret;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::operate::v1::RotateWebhookSecretRequest;

use super::{StatusPage, page};
use crate::form::Form;
use crate::person::Person;
use crate::settings::rejection::rejection;
use crate::settings::{agent_of, registry};
use http_listener::state::HttpState;

/// The form of a new secret.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Rotation {
    /// How long calls carry both signatures, in seconds.
    #[serde(default)]
    overlap: u32,
}

pub(crate) async fn rotate_secret(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(form): Form<Rotation>,
) -> Result<StatusPage, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    let request = RotateWebhookSecretRequest { agent_id: id, overlap_seconds: form.overlap };
    let mut registry = registry(&state, &person);
    match registry.rotate_webhook_secret(request).await {
        Ok(answer) => {
            let secret = answer.into_inner().secret;
            let new = NewSecret { name: "The webhook secret", secret: &secret };
            let page = page(&state, &person, agent, Some(new), None).await?;
            Ok((StatusCode::OK, page))
        }
        Err(status) => {
            let rejection = rejection(status)?;
            let error = Some(rejection.detail.as_str());
            let page = page(&state, &person, agent, None, error).await?;
            Ok((rejection.status, page))
        }
    }
}
