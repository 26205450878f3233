//! `POST /dashboard/conversations/{id}/title`: changes the title.

use axum::extract::State;
use axum::response::Redirect;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;
use wire::proto::write::v1::UpdateConversationRequest;

use super::change;
use crate::form::Form;
use crate::person::Person;
use http_listener::state::HttpState;

/// The title. No `Debug`: it may be content of the conversation.
#[derive(Deserialize)]
pub(crate) struct NewTitle {
    /// Empty: the title is removed.
    title: String,
}

pub(crate) async fn change_title(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(new): Form<NewTitle>,
) -> Result<Redirect, HttpProblem> {
    let command = |target| UpdateConversationRequest {
        target: Some(target),
        update_mask: Some(prost_types::FieldMask { paths: vec!["title".to_owned()] }),
        title: new.title,
        ..UpdateConversationRequest::default()
    };
    change(&state, &person, &id, ("title", command)).await
}
