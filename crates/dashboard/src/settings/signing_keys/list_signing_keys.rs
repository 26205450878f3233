//! `GET /dashboard/settings/signing-keys`: the signing keys of the tenant.

use axum::extract::State;
use runtime::http::HttpProblem;

use super::{Shown, page};
use crate::page::Page;
use crate::person::Person;
use http_listener::state::HttpState;

pub(crate) async fn list_signing_keys(State(state): State<HttpState>, person: Person) -> Result<Page, HttpProblem> {
    page(&state, &person, Shown::default()).await
}
