//! `/openai/v1/conversations`: OpenAI's Conversations API. A conversation of any other API is readable here, and the other
//! way round.

pub mod create_openai_conversation;
pub mod delete_openai_conversation;
pub mod get_openai_conversation;
pub mod items;
pub mod update_openai_conversation;
pub(in crate::http::openai) mod write;

use domain::{ConversationId, Timestamp};
use history::{Bounds, Freshness, Prefetched, Range, Snapshot, Target};
use openai_api::conversation_ids::api_id;
use openai_api::metadata;
use runtime::http::HttpProblem;
use serde::Serialize;
use utoipa::ToSchema;

use crate::http::openai::caller::OpenAiCaller;
use api_json::content::Verbatim;
use conversations::end_user::IdOrigin;
use conversations::positions;
use http_listener::state::HttpState;

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

/// How to read a conversation: with every commit that was acknowledged before, because OpenAI's clients send no positions.
/// [`open`] checks its owner.
///
/// # Errors
/// As [`OpenAiCaller::target`].
pub(in crate::http::openai) async fn target(
    state: &HttpState,
    caller: &OpenAiCaller,
    id: &str,
) -> Result<Target, HttpProblem> {
    Ok(Target { freshness: Freshness::Leader, ..caller.target(state, id).await? })
}

/// Opens a snapshot of the caller's conversation.
///
/// # Errors
/// 404 if the request may not open it by its id; or it cannot be read.
pub(in crate::http::openai) async fn open<'a>(
    state: &'a HttpState,
    caller: &OpenAiCaller,
    target: &'a Target,
) -> Result<Snapshot<'a>, HttpProblem> {
    open_by(state, caller, target, IdOrigin::of(&target.key.conversation)).await
}

/// As [`open`], by an id of this origin that contains the conversation.
///
/// # Errors
/// As [`open`].
pub(in crate::http::openai) async fn open_by<'a>(
    state: &'a HttpState,
    caller: &OpenAiCaller,
    target: &'a Target,
    origin: IdOrigin,
) -> Result<Snapshot<'a>, HttpProblem> {
    let snapshot = Snapshot::open(&state.gateway.reader, target).await?;
    caller.end_user.check_owner(origin, snapshot.owner())?;
    positions::record_read(&state.gateway, &target.key, snapshot.position()).await?;
    Ok(snapshot)
}

/// As [`open`]; also reads the first events of a range.
///
/// # Errors
/// As [`open`].
async fn open_with<'a>(
    state: &'a HttpState,
    caller: &OpenAiCaller,
    target: &'a Target,
    range: &Range<'_>,
    batch: Bounds,
) -> Result<(Snapshot<'a>, Prefetched), HttpProblem> {
    let opened = Snapshot::open_with(&state.gateway.reader, target, range, batch).await;
    let (snapshot, first) = opened?;
    caller.end_user.check_owner(IdOrigin::of(&target.key.conversation), snapshot.owner())?;
    positions::record_read(&state.gateway, &target.key, snapshot.position()).await?;
    Ok((snapshot, first))
}

/// The conversation of a snapshot, as clients get it.
async fn object(snapshot: Snapshot<'_>) -> Result<ConversationObject, HttpProblem> {
    let conversation = snapshot.into_conversation().await?;
    Ok(ConversationObject::new(&conversation.id, conversation.created_at, conversation.metadata.map(Verbatim)))
}
