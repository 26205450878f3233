//! `POST /dashboard/system/parked/drop`: requests that a waiting commit is dropped, as `hansard parked drop`, once the id is typed.

use axum::extract::State;
use axum::response::Redirect;
use domain::{Sequence, ViolationReason};
use runtime::http::HttpProblem;
use serde::Deserialize;

use super::{key, request};
use crate::form::Form;
use crate::person::Person;
use http_listener::state::HttpState;

#[derive(Debug, Deserialize)]
pub(crate) struct DropForm {
    tenant: String,
    conversation: String,
    sequence: u64,
    /// The id of the conversation, as the person typed it.
    confirmation: String,
}

pub(crate) async fn drop_commit(
    State(state): State<HttpState>,
    person: Person,
    Form(form): Form<DropForm>,
) -> Result<Redirect, HttpProblem> {
    let key = key(&form.tenant, &form.conversation)?;
    if form.confirmation.trim() != key.conversation.as_str() {
        let detail = "confirmation is not the id of the conversation: type it exactly";
        return Err(HttpProblem::of_field(ViolationReason::Malformed, "confirmation", detail));
    }
    request(&state, &person, key, Some(Sequence(form.sequence))).await
}
