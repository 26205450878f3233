//! `POST /dashboard/settings/signing-keys/retire`: retires the signing key whose id was typed.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use pages::dashboard::settings::SIGNING_KEYS_PATH;
use runtime::http::HttpProblem;
use serde::Deserialize;
use wire::proto::operate::v1::RetireSigningKeyRequest;

use super::{Shown, page};
use crate::form::Form;
use crate::person::Person;
use crate::settings::registry;
use crate::settings::rejection::rejection;
use http_listener::state::HttpState;

/// The form of a retirement.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Confirmation {
    /// The id of the key.
    #[serde(default)]
    confirmation: String,
}

pub(crate) async fn retire_signing_key(
    State(state): State<HttpState>,
    person: Person,
    Form(form): Form<Confirmation>,
) -> Result<Response, HttpProblem> {
    let request = RetireSigningKeyRequest {
        tenant_id: person.admin.tenant.tenant().to_string(),
        signing_key_id: form.confirmation.trim().to_owned(),
        retired_at: None,
    };
    let retired = registry(&state, &person).retire_signing_key(request).await;
    let Err(status) = retired else {
        return Ok(Redirect::to(SIGNING_KEYS_PATH).into_response());
    };
    let rejection = rejection(status)?;
    let shown = Shown { error: Some(&rejection.detail), ..Shown::default() };
    let page = page(&state, &person, shown).await?;
    Ok((rejection.status, page).into_response())
}
