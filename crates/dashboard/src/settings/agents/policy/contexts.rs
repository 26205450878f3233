//! The contexts of a conversation by the agent's policy and by another one.

use axum::http::StatusCode;
use formats::Format;
use history::Target;
use pages::dashboard::context::ContextColumn;
use pages::dashboard::settings::policy::Preview;
use runtime::http::HttpProblem;
use wire::proto::operate::v1::Agent;

use super::PolicyForm;
use crate::conversations::context::inspection::assemble_at;
use crate::conversations::context::values::{NewColumn, column};
use crate::conversations::{DashboardAction, record};
use crate::person::Person;
use http_listener::state::HttpState;

/// The format of previews.
const FORMAT: Format = Format::OpenAiChat;

/// The preview of a valid policy. The view is recorded once for each session and conversation: the form then has a proof of it.
pub(super) async fn contexts(
    state: &HttpState,
    person: &Person,
    agent: &Agent,
    form: &PolicyForm,
) -> Result<Preview, HttpProblem> {
    let id = form.conversation.trim();
    let target = match person.admin.target(state, id).await {
        Ok(target) if target.access.agent.as_str() == agent.agent_id => target,
        Err(problem) if problem.status != StatusCode::NOT_FOUND => return Err(problem),
        Ok(_) | Err(_) => return Ok(not_found()),
    };
    let viewed = viewed(state, person, &target, form).await?;
    let draft = match column_of(state, &target, Some(form.policy.clone())).await {
        Ok(draft) => Box::new(draft),
        Err(problem) => return Ok(Preview::Failed(problem.detail)),
    };
    let current = column_of(state, &target, None).await;
    Ok(Preview::Contexts { current: current.ok().map(Box::new), draft, viewed })
}

fn not_found() -> Preview {
    Preview::Failed("The agent has no such conversation: check the id.".to_owned())
}

/// Records the view, unless the form proves that it is recorded. Returns the proof.
async fn viewed(state: &HttpState, person: &Person, target: &Target, form: &PolicyForm) -> Result<String, HttpProblem> {
    let conversation = &target.key.conversation;
    let fact = format!("viewed {conversation}");
    let key = state.gateway.registry.dashboard_key(&target.key.tenant);
    let is_proven = |key: &identity::DashboardKey| key.is_proof(&person.session, &fact, &form.viewed);
    if !key.as_ref().is_some_and(is_proven) {
        let action = DashboardAction::Viewed;
        record(state, person, action, conversation, "policy preview").await?;
    }
    let proof = key.map(|key| key.proof(&person.session, &fact));
    Ok(proof.unwrap_or_default())
}

/// The newest context by a policy; absent: by the agent's.
async fn column_of(state: &HttpState, target: &Target, policy: Option<String>) -> Result<ContextColumn, HttpProblem> {
    let (id, heading) = match policy {
        Some(_) => ("draft", "By this policy"),
        None => ("current", "By the agent's policy"),
    };
    let assembled = assemble_at(state, target, None, FORMAT, policy).await?;
    Ok(column(NewColumn { id, heading: heading.to_owned(), body_url: None, assembled: &assembled, previous: None }))
}
