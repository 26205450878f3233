//! `POST /dashboard/settings/agents/{agent}/keys/{key}/origins`: sets the web origins of an API key.

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use pages::dashboard::settings::api_keys::RejectedKeyForm;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::operate::v1::SetApiKeyOriginsRequest;

use super::{check_key, keys_page, origins, rejected};
use crate::form::Form;
use crate::person::Person;
use crate::settings::registry;
use crate::settings::rejection::rejection;
use http_listener::state::HttpState;

/// The form of the origins.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Origins {
    /// The web origins, one a line; empty: none.
    #[serde(default)]
    origins: String,
}

pub(crate) async fn change_origins(
    State(state): State<HttpState>,
    person: Person,
    Path((agent, key)): Path<(String, String)>,
    Form(form): Form<Origins>,
) -> Result<Response, HttpProblem> {
    check_key(&state, &person, &agent, &key).await?;
    let request = SetApiKeyOriginsRequest { api_key_id: key.clone(), allowed_origins: origins(&form.origins) };
    let set = registry(&state, &person).set_api_key_origins(request).await;
    let Err(status) = set else {
        return Ok(keys_page(&agent).into_response());
    };
    let rejection = rejection(status)?;
    let form =
        RejectedKeyForm { key: &key, origins: &form.origins, error: &rejection.detail, ..RejectedKeyForm::default() };
    let page = rejected(&state, &person, &agent, rejection.status, form).await?;
    Ok(page.into_response())
}
