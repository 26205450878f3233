//! `/dashboard/settings/signing-keys`: the keys that verify tokens of the tenant's users and administrators.

pub mod add_signing_key;
pub mod list_signing_keys;
pub mod retire_signing_key;

use axum::http::StatusCode;
use pages::dashboard::settings::NewSecret;
use pages::dashboard::settings::signing_keys::{SigningKeyRow, SigningKeysPage, TypedSigningKey, signing_keys};
use runtime::http::HttpProblem;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{ListSigningKeysRequest, SigningKey, SigningKeyUse};

use super::rejection::failure;
use super::{registry, time};
use crate::http::HttpState;
use crate::http::dashboard::{Page, Person};

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
    let listed =
        registry(state, person).list_signing_keys(request).await.map_err(|status| failure(&status))?.into_inner();
    let rows: Vec<SigningKeyRow> = listed.signing_keys.into_iter().map(row).collect();
    Ok(Page(signing_keys(SigningKeysPage {
        person: person.layout(),
        keys: &rows,
        new: shown.new,
        typed: shown.typed,
        error: shown.error,
    })))
}

fn row(key: SigningKey) -> SigningKeyRow {
    let key_use = match key.r#use() {
        SigningKeyUse::User => "users",
        SigningKeyUse::Admin => "administrators",
        SigningKeyUse::Unspecified => "",
    };
    SigningKeyRow {
        key_use,
        kind: match key.kind {
            Some(Kind::Hs256Secret(_)) => "HS256".to_owned(),
            Some(Kind::JwksJson(_)) => "JWK set".to_owned(),
            Some(Kind::JwksUrl(url)) => url,
            None => String::new(),
        },
        created_at: time(key.created_at),
        retired_at: time(key.retired_at),
        id: key.signing_key_id,
    }
}
