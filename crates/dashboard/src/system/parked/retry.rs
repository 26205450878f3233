//! `POST /dashboard/system/parked/retry`: requests that a parked conversation is projected again, as `hansard parked retry`.

use axum::extract::State;
use axum::response::Redirect;
use runtime::http::HttpProblem;
use serde::Deserialize;

use super::{key, request};
use crate::form::Form;
use crate::person::Person;
use http_listener::state::HttpState;

#[derive(Debug, Deserialize)]
pub(crate) struct RetryForm {
    tenant: String,
    conversation: String,
}

pub(crate) async fn retry(
    State(state): State<HttpState>,
    person: Person,
    Form(form): Form<RetryForm>,
) -> Result<Redirect, HttpProblem> {
    let key = key(&form.tenant, &form.conversation)?;
    request(&state, &person, key, None).await
}
