//! Where a response is recorded: in the conversation that the request names, after the response that it continues, or in a new
//! conversation, which the commit that starts the run creates.

use axum::http::StatusCode;
use domain::{ConversationKey, Fact, Head, NewEvent, OpenCall, Owner, RecentCommit, UserId, Version};
use openai_api::conversation_ids::OwnedId;
use registry::AgentAccess;
use runtime::http::HttpProblem;
use uuid::Uuid;
use wire::proto::event::v1 as event;

use super::recorded::{RecordedResponse, version_without_items_after};
use crate::http::openai::caller::OpenAiCaller;
use conversations::open::{head_from_leader, settled_head};
use conversations::turns::NewConversation;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// The conversation of a response, before the response.
#[derive(Debug)]
pub(super) struct Placement {
    /// The conversation.
    pub(super) key: ConversationKey,
    /// Its version, or that of the creation: the response is recorded directly after it.
    pub(super) version: Version,
    /// How to create it; `None`: it exists.
    pub(super) new: Option<NewConversation>,
    /// The calls without results.
    pub(super) open_calls: Vec<OpenCall>,
    /// The events that a fork repeats: calls that the parent has not answered.
    pub(super) repeated: Vec<NewEvent>,
    /// Its head, unless it is new: retries are found by it.
    pub(super) head: Option<Head>,
    /// Whether the request names it.
    pub(super) is_named: bool,
}

/// Who records the response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Creator<'a> {
    /// The state.
    pub(super) state: &'a HttpState,
    /// The caller.
    pub(super) caller: &'a OpenAiCaller,
    /// The permission.
    pub(super) access: &'a AgentAccess,
}

impl Placement {
    /// The conversation with this id.
    ///
    /// # Errors
    /// 404: the agent of the request has no such conversation.
    pub(super) async fn named(creator: Creator<'_>, id: &str) -> Result<Self, HttpProblem> {
        let Creator { state, caller, access, .. } = creator;
        let writable = caller.writable(state, id).await.map_err(in_conversation)?;
        if writable.head.agent != access.agent {
            return Err(in_conversation(not_found()));
        }
        Ok(Self {
            key: writable.destination.key,
            version: writable.head.version,
            new: None,
            open_calls: writable.head.open_calls.clone(),
            repeated: Vec::new(),
            head: Some(writable.head),
            is_named: true,
        })
    }

    /// After a response: in its conversation if nothing follows it there, or else in a fork. `earlier` finds the commit of an
    /// earlier attempt in the head of the conversation. The fork has the same user.
    ///
    /// # Errors
    /// 400: as [`RecordedResponse::continued_from`].
    pub(super) async fn after(
        creator: Creator<'_>,
        previous: &RecordedResponse,
        earlier: impl Fn(&Head, &ConversationKey) -> Option<RecentCommit>,
    ) -> Result<Self, HttpProblem> {
        let Creator { state, caller, access, .. } = creator;
        let end = previous.continued_from(&access.agent)?;
        let key = &previous.target.key;
        let deadline = caller.service.call.deadline;
        let (head, _) = head_from_leader(state, key, deadline).await?;
        let head = settled_head(state, key, head, deadline).await?;
        let is_own = !previous.noted.names_conversation;
        let unchanged = version_without_items_after(state, &previous.target, end).await?;
        let is_last = unchanged == Some(head.version);
        if is_own && (is_last || earlier(&head, key).is_some()) {
            return Ok(Self {
                key: key.clone(),
                version: head.version,
                new: None,
                open_calls: head.open_calls.clone(),
                repeated: Vec::new(),
                head: Some(head),
                is_named: false,
            });
        }
        let user = match &head.owner {
            Some(Owner::User(user)) => Some(user),
            Some(Owner::Session(_) | Owner::Channel(_)) | None => None,
        };
        Self::fork(creator, user, previous, end)
    }

    /// A fork of this user, or of nobody, after a response, without its calls: a fork cannot answer calls of its parent, so that it
    /// repeats them.
    fn fork(
        creator: Creator<'_>,
        user: Option<&UserId>,
        previous: &RecordedResponse,
        end: Version,
    ) -> Result<Self, HttpProblem> {
        let is_call = |fact: &Fact| matches!(fact, Fact::ToolCalled(_));
        let mut output = previous.output.iter();
        let first_call = output.find(|event| is_call(&event.event.fact));
        let before = first_call.map(|first| Version(first.version.0.saturating_sub(1)));
        let repeated = previous.output.iter().filter_map(|event| match &event.event.fact {
            Fact::ToolCalled(call) => Some(call),
            Fact::MessageAppended(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
        });
        let from = event::ForkPoint {
            conversation_id: previous.target.key.conversation.to_string(),
            version: before.unwrap_or(end).0,
            ..event::ForkPoint::default()
        };
        let mut placement = Self::in_new(creator, user, Some(from))?;
        for call in repeated {
            placement.open_calls.push(OpenCall {
                call_id: call.call_id.clone(),
                tool_name: call.tool_name.clone(),
                version: Version::ZERO,
            });
            let repeated = Fact::ToolCalled(call.clone());
            placement.repeated.push(NewEvent::from(repeated));
        }
        Ok(placement)
    }

    /// A new conversation of this user, or of nobody.
    ///
    /// # Errors
    /// Never: the id is valid.
    pub(super) fn in_new(
        creator: Creator<'_>,
        user: Option<&UserId>,
        forked_from: Option<event::ForkPoint>,
    ) -> Result<Self, HttpProblem> {
        let Creator { access, .. } = creator;
        let new = OwnedId::of(&access.agent, user, Uuid::now_v7())?;
        let parent = forked_from.as_ref().map_or(Version::ZERO, |from| Version(from.version));
        Ok(Self {
            key: ConversationKey { tenant: access.tenant.tenant().clone(), conversation: new.id },
            version: parent.next(),
            new: Some(NewConversation { owner: new.owner, metadata_json: String::new(), forked_from }),
            open_calls: Vec::new(),
            repeated: Vec::new(),
            head: None,
            is_named: false,
        })
    }
}

/// A conversation that the body names is not found: the field is named.
fn in_conversation(problem: HttpProblem) -> HttpProblem {
    match problem.status {
        StatusCode::NOT_FOUND => problem.in_field("conversation"),
        _ => problem,
    }
}
