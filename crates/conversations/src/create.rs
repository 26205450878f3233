//! Creates the conversations of frontends.

use domain::CommitId;
use quotas::Quota;
use wire::conversation::owner_to_proto;
use wire::proto::event::v1 as event;
use wire::proto::write::v1 as write;
use wire::status::Problem;

use crate::commands::{Issuer, key_text};
use crate::identity::Caller;
use crate::names::find_or_new;
use crate::quotas::account::{Account, RequestSource};
use crate::quotas::size_of_message;
use crate::{Conversations, frontend_settings};

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
/// A field is invalid, `CONVERSATION_EXISTS`, `QUOTA_EXCEEDED`, or the writer does not answer.
pub async fn create(
    conversations: &Conversations,
    caller: &Caller,
    via: &RequestSource,
    chat: NewChat,
    key: Option<CommitId>,
) -> Result<write::CommitResult, Problem> {
    let conversation_id = match chat.id.as_str() {
        "" => String::new(),
        id => {
            let key = find_or_new(conversations, &caller.access, &caller.owner, id).await?;
            key.conversation.as_str().to_owned()
        }
    };
    let settings = conversations.agent_settings(&caller.access.agent);
    let recorded = |context| frontend_settings::recorded_context(settings.frontend.as_ref(), context);
    let request = write::CreateConversationRequest {
        agent_id: caller.access.agent.as_str().to_owned(),
        conversation_id,
        idempotency_key: key_text(key),
        owner: Some(owner_to_proto(&caller.owner)),
        title: chat.title,
        metadata_json: chat.metadata_json,
        client_context: chat.context.and_then(recorded),
        forked_from: chat.forked_from,
        ..write::CreateConversationRequest::default()
    };
    let account = Account::of(&caller.access, Some(&caller.owner), via);
    let sent = [(Quota::Conversations, 1), (Quota::StoredBytes, size_of_message(&request))];
    let command = conversations.commands.send(Issuer::Gateway, request);
    conversations.quotas().with_send_quota(&account, &sent, command, |created| created).await
}
