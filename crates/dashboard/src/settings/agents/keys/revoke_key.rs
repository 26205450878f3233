//! `POST /dashboard/settings/agents/{agent}/keys/{key}/revoke`: revokes an API key, after its id was typed.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use pages::dashboard::settings::api_keys::RejectedKeyForm;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::operate::v1::RevokeApiKeyRequest;

use super::{check_key, keys_page, rejected};
use crate::form::Form;
use crate::person::Person;
use crate::settings::registry;
use crate::settings::rejection::failure;
use http_listener::state::HttpState;

/// The form of a revocation.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Confirmation {
    /// The id of the key, as the person typed it.
    #[serde(default)]
    confirmation: String,
}

pub(crate) async fn revoke_key(
    State(state): State<HttpState>,
    person: Person,
    Path((agent, key)): Path<(String, String)>,
    Form(form): Form<Confirmation>,
) -> Result<Response, HttpProblem> {
    check_key(&state, &person, &agent, &key).await?;
    if form.confirmation.trim() != key {
        let form = RejectedKeyForm {
            error: "The id that you typed is not the id of this key. Nothing was revoked.",
            ..RejectedKeyForm::default()
        };
        let status = StatusCode::BAD_REQUEST;
        let page = rejected(&state, &person, &agent, status, form).await?;
        return Ok(page.into_response());
    }
    let request = RevokeApiKeyRequest { api_key_id: key };
    registry(&state, &person).revoke_api_key(request).await.map_err(failure)?;
    Ok(keys_page(&agent).into_response())
}
