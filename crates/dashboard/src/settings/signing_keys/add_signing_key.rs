//! `POST /dashboard/settings/signing-keys`: adds a signing key. The page shows a generated secret, for the only time.

use axum::extract::State;
use axum::http::StatusCode;
use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::signing_keys::TypedSigningKey;
use runtime::http::HttpProblem;
use serde::Deserialize;
use wire::proto::operate::v1::add_signing_key_request::Kind;
use wire::proto::operate::v1::{AddSigningKeyRequest, SigningKeyUse};

use super::{Shown, StatusPage, page};
use crate::form::Form;
use crate::person::Person;
use crate::settings::registry;
use crate::settings::rejection::rejection;
use http_listener::state::HttpState;

/// The form of a new key. No `Debug`: it may contain a secret.
#[derive(Default, Deserialize)]
pub(crate) struct NewSigningKey {
    #[serde(default)]
    id: String,
    #[serde(default, rename = "use")]
    key_use: String,
    #[serde(default)]
    kind: String,
    /// The secret, the JWK set or the URL; empty: a new secret.
    #[serde(default)]
    material: String,
}

pub(crate) async fn add_signing_key(
    State(state): State<HttpState>,
    person: Person,
    Form(form): Form<NewSigningKey>,
) -> Result<StatusPage, HttpProblem> {
    let Some(request) = request(&person, &form) else {
        let error = "The kind is not one of the choices, or the key does not fit it: a new secret needs an empty field, and the \
                     other kinds need the secret, the JWK set or the URL.";
        return rejected(&state, &person, &form, StatusCode::BAD_REQUEST, error).await;
    };
    match registry(&state, &person).add_signing_key(request).await {
        Ok(answer) => {
            let secret = answer.into_inner().secret;
            let name = format!("Signing key {}", form.id);
            let new = NewSecret { name: &name, secret: &secret };
            let shown = Shown { new: (!secret.is_empty()).then_some(new), ..Shown::default() };
            Ok((StatusCode::OK, page(&state, &person, shown).await?))
        }
        Err(status) => {
            let rejection = rejection(status)?;
            let error = &rejection.detail;
            rejected(&state, &person, &form, rejection.status, error).await
        }
    }
}

/// `None`: the kind and the key do not fit.
fn request(person: &Person, form: &NewSigningKey) -> Option<AddSigningKeyRequest> {
    let key_use = match form.key_use.as_str() {
        "user" => SigningKeyUse::User,
        "admin" => SigningKeyUse::Admin,
        _ => SigningKeyUse::Unspecified,
    };
    let material = &form.material;
    let kind = match (form.kind.as_str(), material.trim()) {
        ("generate", "") => None,
        ("secret", text) if !text.is_empty() => Some(Kind::Hs256Secret(material.clone().into_bytes().into())),
        ("jwks", json) if !json.is_empty() => Some(Kind::JwksJson(json.to_owned())),
        ("url", url) if !url.is_empty() => Some(Kind::JwksUrl(url.to_owned())),
        _ => return None,
    };
    Some(AddSigningKeyRequest {
        tenant_id: person.admin.tenant.tenant().to_string(),
        signing_key_id: form.id.clone(),
        r#use: key_use.into(),
        kind,
        expires_at: None,
    })
}

/// The page with what was typed, but for a secret.
async fn rejected(
    state: &HttpState,
    person: &Person,
    form: &NewSigningKey,
    status: StatusCode,
    error: &str,
) -> Result<StatusPage, HttpProblem> {
    let is_public = ["jwks", "url"].contains(&form.kind.as_str());
    let typed = TypedSigningKey {
        id: &form.id,
        key_use: &form.key_use,
        kind: &form.kind,
        material: if is_public { &form.material } else { "" },
    };
    let shown = Shown { typed, error: Some(error), ..Shown::default() };
    Ok((status, page(state, person, shown).await?))
}
