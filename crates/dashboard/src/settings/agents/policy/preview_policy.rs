//! `POST /dashboard/settings/agents/{agent}/policy/preview`: checks a policy and applies it to a conversation. Changes nothing and
//! calls no model.

use axum::extract::State;
use pages::dashboard::settings::policy::Preview;
use runtime::http::{HttpProblem, Path};

use super::contexts::contexts;
use super::{PolicyForm, errors_of, page};
use crate::form::Form;
use crate::page::Page;
use crate::person::Person;
use crate::settings::agent_of;
use http_listener::state::HttpState;

pub(crate) async fn preview_policy(
    State(state): State<HttpState>,
    person: Person,
    Path(id): Path<String>,
    Form(form): Form<PolicyForm>,
) -> Result<Page, HttpProblem> {
    let agent = agent_of(&state, &person, &id)?;
    let errors = errors_of(&form.policy);
    let preview = if !errors.is_empty() {
        Preview::Invalid(errors)
    } else if form.conversation.trim().is_empty() {
        Preview::Valid
    } else {
        contexts(&state, &person, &agent, &form).await?
    };
    Ok(page(&person, &agent, &form, &preview, None))
}
