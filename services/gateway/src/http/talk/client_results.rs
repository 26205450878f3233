//! Which results a client may give: those of calls whose tool has no webhook. What a webhook answers, no page can say for it;
//! a person's refusal is theirs to give, whatever the tool.

use std::collections::BTreeSet;

use domain::event::ToolReturned;
use domain::{AgentId, ToolName};
use runs::denial::denial_of;
use runtime::http::HttpProblem;

use super::turn::Turn;
use super::{first_try, refusal};
use crate::http::owned_chat::Owned;
use crate::http::state::HttpState;

/// The tools of an agent whose calls are answered by a webhook alone.
#[derive(Debug)]
pub(super) struct Webhooks(BTreeSet<ToolName>);

impl Webhooks {
    /// As the agent's settings have them now.
    pub(super) fn of(state: &HttpState, agent: &AgentId) -> Self {
        let agent = state.gateway.registry.agent(agent);
        let settings = agent.and_then(|agent| agent.settings).unwrap_or_default();
        let tools = settings.tools.into_iter();
        let answering = tools.filter(|tool| !tool.webhook_url.is_empty());
        let names = answering.filter_map(|tool| ToolName::parse(tool.tool_name).ok());
        Self(names.collect())
    }

    /// Whether a client's result of a call of this tool is none.
    pub(super) fn answer_for(&self, tool: &ToolName, result: &ToolReturned) -> bool {
        self.0.contains(tool) && denial_of(result).is_none()
    }
}

/// Refuses a turn with results that are not its client's to give.
///
/// A call that is not open yet may be anybody's: no result of one goes on to the writer, unless the same turn was recorded
/// before, which is found by its key.
///
/// # Errors
/// 403 `TOOL_ANSWERED_BY_WEBHOOK`; 409 `TOOL_CALL_NOT_OPEN`, or `RUN_ACTIVE` where the call may be of a run that goes on; what
/// keeps the chat from being read.
pub(super) async fn check(state: &HttpState, chat: &Owned, turn: &Turn) -> Result<(), HttpProblem> {
    let head = &chat.conversation.head;
    let webhooks = Webhooks::of(state, &chat.target.access.agent);
    for (field, result) in turn.results() {
        let call = head.open_calls.iter();
        let mut call = call.filter(|call| call.call_id == result.call_id);
        match call.next() {
            Some(call) if webhooks.answer_for(&call.tool_name, result) => {
                return Err(refusal::answered_by_webhook(field));
            }
            None if !is_retried(state, chat, turn).await? => {
                return Err(match &head.active_run {
                    Some(run) => refusal::run_active(run.id),
                    None => refusal::result_not_awaited(field),
                });
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

async fn is_retried(state: &HttpState, chat: &Owned, turn: &Turn) -> Result<bool, HttpProblem> {
    let Some(key) = turn.key else {
        return Ok(false);
    };
    Ok(first_try::start(state, chat, key).await?.is_some())
}
