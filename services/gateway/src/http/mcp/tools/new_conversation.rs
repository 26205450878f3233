//! Creating a conversation under the caller's rights.

use axum::http::StatusCode;
use domain::{Owner, Timestamp, UserId};
use registry::Scope;
use runtime::http::HttpProblem;
use wire::conversation::owner_to_proto;
use wire::proto::event::v1::ForkPoint;
use wire::proto::write::v1::{CommitResult, CreateConversationRequest};
use wire::status::{Problem, Reason};

use super::ToolContext;
use crate::http::mcp::caller::{McpCaller, check_own_agent, with_argument};
use conversations::commands::{self, Issuer};

/// A conversation to create.
#[derive(Debug)]
pub(super) struct NewConversation {
    /// The named agent.
    pub(super) agent: Option<String>,
    /// The owner.
    pub(super) owner: Owner,
    /// The title; empty: none.
    pub(super) title: String,
    /// The point of the fork.
    pub(super) forked_from: Option<ForkPoint>,
}

/// Creates the conversation. The writer authorizes services by their own token.
///
/// # Errors
/// The agent is not determined, a field is invalid, 403 without the scope `append`, or the writer does not answer.
pub(super) async fn create(context: ToolContext<'_>, new: NewConversation) -> Result<CommitResult, HttpProblem> {
    let request = |agent: &str| CreateConversationRequest {
        agent_id: agent.to_owned(),
        owner: Some(owner_to_proto(&new.owner)),
        title: new.title.clone(),
        forked_from: new.forked_from.clone(),
        ..CreateConversationRequest::default()
    };
    let state = context.state;
    match context.caller {
        McpCaller::Service(service) => {
            let only = context.caller.only_agent(state, new.agent.as_deref());
            let named = new.agent.as_deref().or(only.as_deref());
            let access = service.access(state, Scope::Append, named).await.map_err(with_argument)?;
            let request = request(access.agent.as_str());
            Ok(state.commands.send(Issuer::Service(&service.call), request).await?)
        }
        McpCaller::User(caller) => {
            check_own_agent(caller, new.agent.as_deref())?;
            let request = request(caller.access.agent.as_str());
            Ok(state.commands.send(Issuer::Gateway, request).await?)
        }
        McpCaller::Admin(_) => Err(read_only().into()),
    }
}

/// The user of an argument, who must be the one of a user's token.
///
/// # Errors
/// The id is invalid, or 403 `USER_MISMATCH`.
pub(super) fn owner(context: ToolContext<'_>, user: String) -> Result<Owner, HttpProblem> {
    let user = UserId::parse(user).map_err(|wrong| wrong.within("user_id"))?;
    let own = context.caller.own_user();
    if own.is_some_and(|own| own != user.as_str()) {
        let detail = "is not the user of the token: send that user's id";
        let refused = HttpProblem::new(StatusCode::FORBIDDEN, "USER_MISMATCH", detail);
        return Err(refused.in_field("user_id"));
    }
    Ok(Owner::User(user))
}

/// When a commit was recorded.
///
/// # Errors
/// The writer gave no time.
pub(super) fn recorded_at(commit: &CommitResult) -> Result<Timestamp, HttpProblem> {
    commands::recorded_at(commit).ok_or_else(|| {
        let why = "the writer's answer has no time".to_owned();
        HttpProblem::from(conversations::problem::of_contradiction(why))
    })
}

/// Administrators have no scope that writes.
pub(super) fn read_only() -> Problem {
    let detail = "an administrator's token reads only: use a service token with the scope append";
    Problem::new(Reason::MissingScope, detail)
}
