//! Appends to a conversation at the version that the request has seen.

use axum::http::StatusCode;
use domain::{ConversationKey, Head};
use registry::{AgentAccess, Scope};
use runtime::http::HttpProblem;
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::{self as write, CommitResult};
use wire::status::Reason;

use crate::http::openai::caller::OpenAiCaller;
use conversations::commands::{Issuer, command_target};
use conversations::end_user::IdOrigin;
use conversations::open::{head_from_leader, is_not_owned, settled_head};
use conversations::request_hash::RequestHash;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// A conversation that a request names. It is not read: the writer checks whether the caller has it.
#[derive(Debug)]
pub(in crate::http::openai) struct Destination {
    access: AgentAccess,
    /// The conversation.
    pub(in crate::http::openai) key: ConversationKey,
}

impl Destination {
    /// The conversation of a path.
    ///
    /// # Errors
    /// 403 without the scope `append`; 404 if no conversation can have the id.
    pub(in crate::http::openai) async fn find(
        state: &HttpState,
        caller: &OpenAiCaller,
        id: &str,
    ) -> Result<Self, HttpProblem> {
        let id = caller.record_id(state, Scope::Append, id).await?;
        let (access, key) = caller.service.conversation(state, Scope::Append, id.as_str()).await?;
        Ok(Self { access, key })
    }

    /// The owner that the conversation must have.
    ///
    /// # Errors
    /// 404 if the request may not open it by its id.
    pub(in crate::http::openai) fn expected_owner(
        &self,
        caller: &OpenAiCaller,
    ) -> Result<Option<event::Owner>, HttpProblem> {
        let owner = caller.end_user.expected_owner(IdOrigin::of(&self.key.conversation))?;
        Ok(owner.as_ref().map(owner_to_proto))
    }

    /// The target of a command without an idempotency key, at any version.
    pub(in crate::http::openai) fn target(&self) -> write::CommandTarget {
        command_target(&self.access.agent, &self.key.conversation, String::new())
    }
}

/// A conversation that a request changes.
#[derive(Debug)]
pub(in crate::http::openai) struct Writable {
    /// The conversation.
    pub(in crate::http::openai) destination: Destination,
    /// Its head, read from the leader.
    pub(in crate::http::openai) head: Head,
}

impl Writable {
    /// The conversation of a path.
    ///
    /// # Errors
    /// 403 without the scope `append`; 404 if the caller's agent has no such conversation.
    pub(in crate::http::openai) async fn find(
        state: &HttpState,
        caller: &OpenAiCaller,
        id: &str,
    ) -> Result<Self, HttpProblem> {
        let destination = Destination::find(state, caller, id).await?;
        let deadline = caller.service.call.deadline;
        let (head, _) = head_from_leader(state, &destination.key, deadline).await?;
        if head.agent != destination.access.agent {
            return Err(not_found());
        }
        let origin = IdOrigin::of(&destination.key.conversation);
        caller.end_user.check_owner(origin, head.owner.as_ref())?;
        let head = settled_head(state, &destination.key, head, deadline).await?;
        Ok(Self { destination, head })
    }

    /// Appends events directly after the head.
    ///
    /// # Errors
    /// 400 `conversation_locked` if another writer was faster; as the writer otherwise.
    pub(in crate::http::openai) async fn append(
        &self,
        state: &HttpState,
        caller: &OpenAiCaller,
        request: RequestHash,
        events: Vec<event::Event>,
    ) -> Result<CommitResult, HttpProblem> {
        let request = write::AppendEventsRequest {
            target: Some(write::CommandTarget {
                idempotency_key: request.next_key(&self.head).to_string(),
                expected_version: Some(self.head.version.0),
                ..self.destination.target()
            }),
            events,
            ..write::AppendEventsRequest::default()
        };
        state.commands.send(Issuer::Service(&caller.service.call), request).await.map_err(rejected)
    }
}

/// The writer's rejection in OpenAI's terms. Its libraries repeat a 409, which would not help here.
pub(in crate::http::openai) fn rejected(problem: impl Into<HttpProblem>) -> HttpProblem {
    let problem = problem.into();
    match problem.reason() {
        Some(Reason::VersionConflict | Reason::Contention | Reason::RunActive) => locked(),
        Some(reason) if is_not_owned(reason) => not_found(),
        _ if problem.status == StatusCode::CONFLICT => {
            let field = problem.field.clone().unwrap_or("conversation".to_owned());
            HttpProblem { status: StatusCode::BAD_REQUEST, ..problem.in_field(field) }
        }
        _ => problem,
    }
}

/// Another request changes the conversation, or a run is active.
pub(in crate::http::openai) fn locked() -> HttpProblem {
    let detail = "another request is changing the conversation: read it and try again";
    HttpProblem::of_field("conversation_locked", "conversation", detail)
}
