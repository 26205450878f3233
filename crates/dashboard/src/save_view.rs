//! `POST /dashboard/views`: saves a filter of the conversation list under a name, or removes it.

use axum::extract::State;
use axum::response::Redirect;
use domain::ViolationReason;
use runtime::http::HttpProblem;
use serde::Deserialize;
use wire::proto::operate::v1::{DashboardView, SetDashboardViewRequest};

use super::BASE_PATH;
use super::audit::{Action, DashboardAction, record};
use super::conversation_filter::ConversationFilter;
use super::list_url::list_url;
use crate::form::Form;
use crate::person::Person;
use conversations::commands::own_problem;
use http_listener::state::HttpState;

#[derive(Debug, Deserialize)]
pub(super) struct ViewForm {
    name: String,
    /// The filter; empty: remove the view.
    #[serde(default)]
    q: String,
}

pub(super) async fn save_view(
    State(state): State<HttpState>,
    person: Person,
    Form(form): Form<ViewForm>,
) -> Result<Redirect, HttpProblem> {
    if let Err(wrong) = ConversationFilter::parse(&form.q) {
        return Err(HttpProblem::of_field(ViolationReason::Malformed, "q", wrong));
    }
    let action = Action { action: DashboardAction::Changed, conversation: None, detail: "saved views" };
    record(&state, &person, action).await?;
    let location = list_url(BASE_PATH, &form.q, None);
    let request = SetDashboardViewRequest {
        session_token: person.token,
        view: Some(DashboardView { name: form.name, filter: form.q }),
    };
    let mut registry = state.commands.registry();
    registry.set_dashboard_view(request).await.map_err(own_problem)?;
    Ok(Redirect::to(&location))
}
