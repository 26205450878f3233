//! `/dashboard/settings/signing-keys`: the keys that verify tokens of the tenant's users and administrators.

pub mod add_signing_key;
pub mod list_signing_keys;
pub mod retire_signing_key;

use axum::http::StatusCode;
use domain::Timestamp;
use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::signing_keys::{SigningKeyRow, SigningKeysPage, TypedSigningKey, signing_keys};
use runtime::http::HttpProblem;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{ListSigningKeysRequest, SigningKey, SigningKeyUse};

use super::rejection::failure;
use super::{is_ending, registry, time};
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

/// A page with a status: a rejected form is shown again.
type StatusPage = (StatusCode, Page);

/// What a page shows beside the keys.
#[derive(Clone, Copy, Default)]
struct Shown<'a> {
    new: Option<NewSecret<'a>>,
    typed: TypedSigningKey<'a>,
    error: Option<&'a str>,
}

/// The page of the keys, read again.
async fn page(state: &HttpState, person: &Person, shown: Shown<'_>) -> Result<Page, HttpProblem> {
    let request = ListSigningKeysRequest { tenant_id: person.admin.tenant.tenant().to_string() };
    let listed = registry(state, person).list_signing_keys(request).await.map_err(failure)?.into_inner();
    let now = state.now();
    let rows: Vec<SigningKeyRow> = listed.signing_keys.into_iter().map(|key| row(key, now)).collect();
    Ok(Page(signing_keys(SigningKeysPage {
        person: person.layout(),
        keys: &rows,
        new: shown.new,
        typed: shown.typed,
        error: shown.error,
    })))
}

fn row(key: SigningKey, now: Timestamp) -> SigningKeyRow {
    let key_use = match key.r#use() {
        SigningKeyUse::User => "users",
        SigningKeyUse::Admin => "administrators",
        SigningKeyUse::Unspecified => "",
    };
    let (retired_at, expires_at) = (time(key.retired_at), time(key.expires_at));
    SigningKeyRow {
        key_use,
        kind: match key.kind {
            Some(Kind::Hs256Secret(_)) => "HS256".to_owned(),
            Some(Kind::JwksJson(_)) => "JWK set".to_owned(),
            Some(Kind::JwksUrl(url)) => url,
            None => String::new(),
        },
        created_at: time(key.created_at),
        ends_at: retired_at.into_iter().chain(expires_at).min(),
        is_ending: retired_at.is_none() && is_ending(expires_at, now),
        last_used_at: time(key.last_used_at),
        id: key.signing_key_id,
    }
}
