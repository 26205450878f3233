//! Creates a conversation of the caller.

use runtime::http::HttpProblem;
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;

use crate::http::idempotency::IdempotencyKey;
use crate::http::state::HttpState;
use crate::identity::Caller;

/// A new conversation; empty texts are absent.
#[derive(Debug, Default)]
pub struct NewChat {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its metadata as JSON text.
    pub metadata_json: String,
    /// The client.
    pub context: Option<event::ClientContext>,
    /// The point of the fork.
    pub forked_from: Option<event::ForkPoint>,
}

/// Creates a conversation of the caller.
///
/// # Errors
/// A field is invalid, 409 `CONVERSATION_EXISTS`, or the writer does not answer.
pub async fn create(
    state: &HttpState,
    caller: &Caller,
    chat: NewChat,
    key: IdempotencyKey,
) -> Result<write::CommitResult, HttpProblem> {
    let request = write::CreateConversationRequest {
        agent_id: caller.access.agent.as_str().to_owned(),
        conversation_id: chat.id,
        idempotency_key: key.text(),
        owner: Some(owner_to_proto(&caller.owner)),
        title: chat.title,
        metadata_json: chat.metadata_json,
        client_context: chat.context,
        forked_from: chat.forked_from,
        ..write::CreateConversationRequest::default()
    };
    state.commands.create(request).await
}
