//! `/dashboard/conversations/{id}`: the transcript of a conversation, what models read of it, and what may be done with it.
//!
//! Folders follow the URLs. Every handler finds the conversation by [`Admin::target`](http_listener::callers::admin::Admin::target): foreign,
//! missing and erased conversations get the same answer. What is viewed, exported, changed and erased is recorded in the audit
//! log before it is served.

pub mod archive;
pub mod change_title;
pub mod context;
pub mod erase;
pub mod erasure_receipt;
pub mod events;
pub mod export_conversation;
pub mod restore;
pub mod show_conversation;
pub mod watch_conversation;

use axum::response::Redirect;
use domain::ConversationId;
use history::Target;
use pages::dashboard::transcript::path;
use runtime::http::HttpProblem;
use wire::proto::write::v1::CommandTarget;

pub(super) use super::audit::DashboardAction;
use super::audit::{self, Action};
use crate::person::Person;
use conversations::commands::{Command, Issuer, command_target};
use http_listener::state::HttpState;

/// Records in the audit log what a person does to a conversation.
pub(super) async fn record(
    state: &HttpState,
    person: &Person,
    action: DashboardAction,
    conversation: &ConversationId,
    detail: &str,
) -> Result<(), HttpProblem> {
    let action = Action { action, conversation: Some(conversation), detail };
    audit::record(state, person, action).await
}

/// Changes a conversation by the command of a form, after the audit log has recorded it. A form that is sent twice is two commands.
async fn change<C: Command>(
    state: &HttpState,
    person: &Person,
    id: &str,
    (detail, command): (&str, impl FnOnce(CommandTarget) -> C),
) -> Result<Redirect, HttpProblem> {
    let target = person.admin.target(state, id).await?;
    let conversation = &target.key.conversation;
    record(state, person, DashboardAction::Changed, conversation, detail).await?;
    let command = command(command_target(&target.access.agent, conversation, None));
    state.commands.send(Issuer::Gateway, command).await?;
    Ok(transcript_of(&target))
}

/// Back to the transcript.
fn transcript_of(target: &Target) -> Redirect {
    Redirect::to(&path(target.key.conversation.as_str()))
}
