//! `/openai/v1/conversations`: OpenAI's Conversations API. A conversation of any other API is readable here, and the other
//! way round.

pub mod create_conversation;
pub mod delete_conversation;
pub mod get_conversation;
pub mod items;
pub(in crate::http::openai) mod metadata;
pub(in crate::http::openai) mod retry;
pub mod update_conversation;
pub(in crate::http::openai) mod write;

use domain::{ConversationId, Timestamp};
use history::{Freshness, Target};
use runtime::http::HttpProblem;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::body::Verbatim;
use crate::http::openai::caller::OpenAiCaller;
use crate::http::openai::conversation_ids::api_id;
use crate::http::owned_chat::{head_from_leader, read_conversation};
use crate::http::state::HttpState;

/// A conversation without its items.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConversationObject {
    /// Its id.
    #[schema(example = "conv_0198c1a27c1e7b5e9d0a1f6f0c9b2a11")]
    id: String,
    /// Always `conversation`.
    object: &'static str,
    /// When it was created, in seconds since 1970.
    created_at: i64,
    /// Its metadata; `{}` if it has none.
    metadata: Verbatim,
}

impl ConversationObject {
    fn new(id: &ConversationId, created_at: Timestamp, metadata: Option<Verbatim>) -> Self {
        Self {
            id: api_id(id).to_owned(),
            object: "conversation",
            created_at: created_at.seconds(),
            metadata: metadata.unwrap_or_else(metadata::empty),
        }
    }
}

/// How to read a conversation: with every commit that was acknowledged before, because OpenAI's clients send no positions.
///
/// # Errors
/// As [`OpenAiCaller::target`]; 404 if the request names an end user who does not own it.
pub(in crate::http::openai) async fn target(
    state: &HttpState,
    caller: &OpenAiCaller,
    id: &str,
) -> Result<Target, HttpProblem> {
    let target = Target {
        freshness: Freshness::Leader,
        ..caller.target(state, id).await?
    };
    // Only a request that names an end user needs the owner.
    if caller.check_owner(None).is_err() {
        let (head, _) = head_from_leader(state, &target.key, target.deadline).await?;
        caller.check_owner(head.owner.as_ref())?;
    }
    Ok(target)
}

/// The conversation of a target, as clients get it.
async fn object(state: &HttpState, target: &Target) -> Result<ConversationObject, HttpProblem> {
    let (conversation, _) = read_conversation(state, target).await?;
    Ok(ConversationObject::new(
        &conversation.id,
        conversation.created_at,
        conversation.metadata.map(Verbatim),
    ))
}
