//! What the caller of a turn may send: the files that the agent accepts, who may approve and refuse tool calls, by the agent's
//! settings, and results of tools without a webhook only. Refusals are accepted for every tool. Callers with a public key may send messages of the roles that
//! the agent allows: without this check anybody could send instructions to the model, or messages in its name.

use std::collections::BTreeSet;

use domain::event::{MessageAppended, Role, ToolReturned};
use domain::{AgentId, CallId, ToolName};
use runs::denial::denial_of;
use wire::proto::event::v1 as event;
use wire::proto::operate::v1::{AgentSettings, Approvers};

use super::turn::Turn;
use super::{attachments, first_attempt, problems};
use wire::status::Problem;

use crate::Conversations;
use crate::frontend_settings::accepted_files;
use crate::open::{Authority, OwnedChat};

/// The roles that an agent allows its public callers in addition to `user`.
#[derive(Debug, Default)]
pub struct AllowedRoles(Vec<Role>);

impl AllowedRoles {
    /// The roles in the agent's current settings.
    #[must_use]
    pub fn for_agent(conversations: &Conversations, agent: &AgentId) -> Self {
        let settings = conversations.agent_settings(agent);
        Self(settings.allowed_roles().filter_map(allowed_role).collect())
    }

    /// Whether a message may have this role.
    #[must_use]
    pub fn contains(&self, role: Role) -> bool {
        role == Role::User || self.0.contains(&role)
    }
}

/// A later version may write settings with more roles.
fn allowed_role(role: event::Role) -> Option<Role> {
    match role {
        event::Role::Assistant => Some(Role::Assistant),
        event::Role::System => Some(Role::System),
        event::Role::Developer => Some(Role::Developer),
        event::Role::Unspecified | event::Role::User => None,
    }
}

/// Rejects a message of a role that its caller may not send, among those at these indexes.
///
/// # Errors
/// `ROLE_NOT_ALLOWED`.
pub fn check_roles(
    messages: &[MessageAppended],
    indexes: impl IntoIterator<Item = usize>,
    allowed: &AllowedRoles,
) -> Result<(), Problem> {
    let is_refused = |index: &usize| {
        let message = messages.get(*index);
        message.is_some_and(|message| !allowed.contains(message.role))
    };
    match indexes.into_iter().find(is_refused) {
        Some(index) => Err(problems::role_not_allowed(index)),
        None => Ok(()),
    }
}

/// The tools of an agent that have a webhook.
#[derive(Debug)]
pub struct Webhooks(BTreeSet<ToolName>);

impl Webhooks {
    /// The tools in the agent's current settings.
    #[must_use]
    pub fn for_agent(conversations: &Conversations, agent: &AgentId) -> Self {
        let tools = conversations.agent_settings(agent).tools.into_iter();
        let with_webhook = tools.filter(|tool| !tool.webhook_url.is_empty());
        let names = with_webhook.filter_map(|tool| ToolName::parse(tool.tool_name).ok());
        Self(names.collect())
    }

    /// Whether only the webhook may send this result.
    #[must_use]
    pub fn must_answer(&self, tool: &ToolName, result: &ToolReturned) -> bool {
        self.0.contains(tool) && denial_of(result).is_none()
    }
}

/// Checks that the caller may send the turn's files, approvals and results.
///
/// # Errors
/// As [`attachments::check`]; `APPROVAL_NOT_ALLOWED` or `TOOL_ANSWERED_BY_WEBHOOK`; `TOOL_CALL_NOT_OPEN`, or `RUN_ACTIVE` if the call
/// of a result may be of the active run; or the chat cannot be read.
pub(super) async fn check(conversations: &Conversations, chat: &OwnedChat, turn: &Turn) -> Result<(), Problem> {
    check_files(conversations, chat, turn)?;
    check_approver(conversations, chat, turn)?;
    check_open(chat, turn)?;
    check_results(conversations, chat, turn).await
}

/// Rejects a message with a file that the agent does not accept.
fn check_files(conversations: &Conversations, chat: &OwnedChat, turn: &Turn) -> Result<(), Problem> {
    let settings = conversations.agent_settings(&chat.target.access.agent);
    let Some(accepted) = accepted_files(settings.frontend.as_ref()) else {
        return Ok(());
    };
    let mut messages = turn.messages();
    messages.try_for_each(|(field, message)| attachments::check(field, &message.parts, &accepted))
}

/// Rejects a turn with decisions about tool calls if its caller may not decide.
fn check_approver(conversations: &Conversations, chat: &OwnedChat, turn: &Turn) -> Result<(), Problem> {
    if !turn.decides_on_calls() {
        return Ok(());
    }
    let settings = conversations.agent_settings(&chat.target.access.agent);
    if may_decide(&settings, &chat.authority) {
        return Ok(());
    }
    Err(problems::approval_not_allowed())
}

/// An unknown value is treated as the strictest.
fn may_decide(settings: &AgentSettings, authority: &Authority) -> bool {
    match Approvers::try_from(settings.approvers) {
        Ok(Approvers::Unspecified | Approvers::Owner) => true,
        Ok(Approvers::User) => !matches!(authority, Authority::Owner),
        Ok(Approvers::Administrator) | Err(_) => matches!(authority, Authority::Administrator(_)),
    }
}

/// Approvals need an open call. A retry may arrive after the call was answered.
fn check_open(chat: &OwnedChat, turn: &Turn) -> Result<(), Problem> {
    let open = &chat.conversation.head.open_calls;
    let is_open = |call: &CallId| open.iter().any(|open| open.call_id == *call);
    if turn.key.is_some() || turn.approved.iter().all(is_open) {
        return Ok(());
    }
    Err(problems::call_not_open())
}

/// Rejects a turn with results that its client may not send.
///
/// A result of a call that is not open is rejected, because the call's tool is unknown. Exception: a retry of a
/// recorded turn, found by its key, is passed on to the writer.
async fn check_results(conversations: &Conversations, chat: &OwnedChat, turn: &Turn) -> Result<(), Problem> {
    let head = &chat.conversation.head;
    let webhooks = Webhooks::for_agent(conversations, &chat.target.access.agent);
    for (field, result) in turn.results() {
        let mut call = head.open_calls.iter().filter(|call| call.call_id == result.call_id);
        match call.next() {
            Some(call) if webhooks.must_answer(&call.tool_name, result) => {
                return Err(problems::answered_by_webhook(field));
            }
            None if !is_retried(conversations, chat, turn).await? => {
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

async fn is_retried(conversations: &Conversations, chat: &OwnedChat, turn: &Turn) -> Result<bool, Problem> {
    let Some(key) = turn.key else {
        return Ok(false);
    };
    Ok(first_attempt::run_version(conversations, chat, key).await?.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_decide() {
        let check = |approvers: i32, expected: [bool; 3]| {
            let settings = AgentSettings { approvers, ..AgentSettings::default() };
            let user = domain::UserId::parse("ada").unwrap();
            let authority = [Authority::Owner, Authority::User(user), Authority::Administrator(None)];
            assert_eq!(authority.map(|authority| may_decide(&settings, &authority)), expected);
        };
        check(Approvers::Unspecified.into(), [true, true, true]);
        check(Approvers::Owner.into(), [true, true, true]);
        check(Approvers::User.into(), [false, true, true]);
        check(Approvers::Administrator.into(), [false, false, true]);
        check(99, [false, false, true]);
    }
}
