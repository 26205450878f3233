//! `/openai/v1/conversations`: OpenAI's Conversations API. A conversation of any other API is readable here, and the other
//! way round.

pub mod create_openai_conversation;
pub mod delete_openai_conversation;
pub mod get_openai_conversation;
pub mod items;
pub mod update_openai_conversation;

use domain::{ConversationId, Timestamp};
use history::Snapshot;
use openai_api::conversation_ids::api_id;
use openai_api::metadata;
use runtime::http::HttpProblem;
use serde::Serialize;
use utoipa::ToSchema;

use api_json::content::Verbatim;

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
            metadata: metadata.unwrap_or_else(|| Verbatim(metadata::empty())),
        }
    }
}

/// The conversation of a snapshot, as clients get it.
async fn object(snapshot: Snapshot<'_>) -> Result<ConversationObject, HttpProblem> {
    let conversation = snapshot.into_conversation().await?;
    Ok(ConversationObject::new(&conversation.id, conversation.created_at, conversation.metadata.map(Verbatim)))
}
