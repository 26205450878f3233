//! `POST /dashboard/conversations/{id}/erase`: erases a conversation and the forks that the preview has shown.

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use pages::dashboard::transcript::path;
use runtime::http::{HttpProblem, Path};
use serde::Deserialize;

use super::{page, plan};
use crate::conversations::erasure_receipt::read_tombstone;
use crate::conversations::{DashboardAction, record};
use crate::form::Form;
use crate::person::Person;
use conversations::forks::{Eraser, Erasure, ForkRule, erase_with_forks};
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// The form of the preview.
#[derive(Debug, Deserialize)]
pub(crate) struct Confirmation {
    /// The id of the conversation, as the person typed it.
    #[serde(default)]
    confirmation: String,
    /// How many forks the preview has shown.
    #[serde(default)]
    forks: usize,
}

pub(crate) async fn erase_conversation(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(form): Form<Confirmation>,
) -> Result<Response, HttpProblem> {
    let receipt = Redirect::to(&format!("{}/erasure", path(&id)));
    let target = match person.admin.target(&state, &id).await {
        Ok(target) => target,
        // The form was sent twice.
        Err(_) if read_tombstone(&state, &person, &id).await.is_ok() => {
            return Ok(receipt.into_response());
        }
        Err(problem) => return Err(problem),
    };
    let plan = plan(&state, &target).await?;
    let forks = plan.removed.len().saturating_sub(1);
    let error = if form.confirmation.trim() != id {
        Some("The id that you typed is not the id of this conversation. Nothing was erased.")
    } else if plan.has_too_many_forks || forks > form.forks {
        Some("There are more forks than the preview has shown. Nothing was erased: check again.")
    } else {
        None
    };
    if error.is_some() {
        return Ok(page(&person, &plan, error).into_response());
    }
    let conversation = &target.key.conversation;
    let detail = format!("with {forks} forks");
    record(&state, &person, DashboardAction::Erased, conversation, &detail).await?;
    let eraser = Eraser { access: &target.access, owner: None };
    let rule = if forks > 0 { ForkRule::Erase } else { ForkRule::Refuse };
    match erase_with_forks(&state, eraser, conversation, None, rule).await? {
        Erasure::Done { .. } => Ok(receipt.into_response()),
        Erasure::NotOwned => Err(not_found()),
    }
}
