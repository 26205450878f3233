//! Which tool results a client may send: those of tools without a webhook. Refusals are accepted for every tool.

use std::collections::BTreeSet;

use domain::event::ToolReturned;
use domain::{AgentId, ToolName};
use runs::denial::denial_of;
use runtime::http::HttpProblem;

use super::turn::Turn;
use super::{first_attempt, problems};
use crate::http::owned_chat::OwnedChat;
use crate::http::state::HttpState;

/// The tools of an agent that have a webhook.
#[derive(Debug)]
pub(in crate::http) struct Webhooks(BTreeSet<ToolName>);

impl Webhooks {
    /// The tools in the agent's current settings.
    pub(in crate::http) fn for_agent(state: &HttpState, agent: &AgentId) -> Self {
        let tools = state.agent_settings(agent).tools.into_iter();
        let with_webhook = tools.filter(|tool| !tool.webhook_url.is_empty());
        let names = with_webhook.filter_map(|tool| ToolName::parse(tool.tool_name).ok());
        Self(names.collect())
    }

    /// Whether only the webhook may send this result.
    pub(in crate::http) fn must_answer(&self, tool: &ToolName, result: &ToolReturned) -> bool {
        self.0.contains(tool) && denial_of(result).is_none()
    }
}

/// Rejects a turn with results that its client may not send.
///
/// A result of a call that is not open is rejected, because the call's tool is unknown. Exception: a retry of a
/// recorded turn, found by its key, is passed on to the writer.
///
/// # Errors
/// 403 `TOOL_ANSWERED_BY_WEBHOOK`; 409 `TOOL_CALL_NOT_OPEN`, or `RUN_ACTIVE` if the call may be of the active run; or
/// the chat cannot be read.
pub(in crate::http) async fn check(
    state: &HttpState,
    chat: &OwnedChat,
    turn: &Turn,
) -> Result<(), HttpProblem> {
    let head = &chat.conversation.head;
    let webhooks = Webhooks::for_agent(state, &chat.target.access.agent);
    for (field, result) in turn.results() {
        let call = head.open_calls.iter();
        let mut call = call.filter(|call| call.call_id == result.call_id);
        match call.next() {
            Some(call) if webhooks.must_answer(&call.tool_name, result) => {
                return Err(problems::answered_by_webhook(field));
            }
            None if !is_retried(state, chat, turn).await? => {
                return Err(match &head.active_run {
                    Some(run) => problems::run_active(run.id),
                    None => problems::result_not_awaited(field),
                });
            }
            Some(_) | None => {}
        }
    }
    Ok(())
}

async fn is_retried(state: &HttpState, chat: &OwnedChat, turn: &Turn) -> Result<bool, HttpProblem> {
    let Some(key) = turn.key else {
        return Ok(false);
    };
    Ok(first_attempt::run_version(state, chat, key)
        .await?
        .is_some())
}
