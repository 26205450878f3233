//! `POST /dashboard/settings/agents/{agent}/keys/{key}/rotate`: creates the key that replaces a key, which stays valid for a while.

use axum::extract::State;
use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::api_keys::RejectedKeyForm;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::operate::v1::RotateApiKeyRequest;

use super::{StatusPage, check_key, created, rejected};
use crate::form::Form;
use crate::person::Person;
use crate::settings::registry;
use crate::settings::rejection::rejection;
use http_listener::state::HttpState;

/// The form of a rotation.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub(crate) struct Rotation {
    /// How long the old key stays valid, in seconds.
    #[serde(default)]
    overlap: u32,
}

pub(crate) async fn rotate_key(
    State(state): State<HttpState>,
    person: Person,
    Path((agent, key)): Path<(String, String)>,
    Form(form): Form<Rotation>,
) -> Result<StatusPage, HttpProblem> {
    check_key(&state, &person, &agent, &key).await?;
    let request = RotateApiKeyRequest { api_key_id: key.clone(), overlap_seconds: form.overlap, expires_at: None };
    match registry(&state, &person).rotate_api_key(request).await {
        Ok(answer) => {
            let answer = answer.into_inner();
            let next = answer.api_key.unwrap_or_default();
            let new = NewSecret {
                name: &format!("API key {}, which replaces {key}", next.api_key_id),
                secret: &answer.secret,
            };
            created(&state, &person, &agent, new).await
        }
        Err(status) => {
            let rejection = rejection(status)?;
            let form = RejectedKeyForm { error: &rejection.detail, ..RejectedKeyForm::default() };
            rejected(&state, &person, &agent, rejection.status, form).await
        }
    }
}
