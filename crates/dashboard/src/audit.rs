//! Records in the tenant's audit log what a person does, before it is done.

use domain::ConversationId;
use runtime::http::HttpProblem;
use wire::proto::operate::v1::RecordDashboardActionRequest;

pub use wire::proto::operate::v1::DashboardAction;

use crate::person::Person;
use conversations::commands::own_problem;
use http_listener::state::HttpState;

/// What a person does, for the audit log.
#[derive(Debug, Clone, Copy)]
pub struct Action<'a> {
    /// What.
    pub action: DashboardAction,
    /// The conversation that it is done to.
    pub conversation: Option<&'a ConversationId>,
    /// More about it, such as the format of an export; at most 1,024 bytes. Never content of messages.
    pub detail: &'a str,
}

/// Appends an entry. Call it before the answer is served: what cannot be recorded is not done.
///
/// # Errors
/// 503 if the writer does not answer, 401 if the session has ended.
pub async fn record(state: &HttpState, person: &Person, action: Action<'_>) -> Result<(), HttpProblem> {
    record_for(state, &person.token, action).await
}

/// As [`record`], for the session with this token.
pub(super) async fn record_for(state: &HttpState, token: &str, action: Action<'_>) -> Result<(), HttpProblem> {
    let request = RecordDashboardActionRequest {
        session_token: token.to_owned(),
        action: action.action.into(),
        conversation_id: action.conversation.map_or_else(String::new, ToString::to_string),
        detail: action.detail.to_owned(),
    };
    let mut registry = state.commands.registry();
    registry.record_dashboard_action(request).await.map_err(own_problem)?;
    Ok(())
}
