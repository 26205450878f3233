//! `DELETE /api/chats/{id}`: erases a conversation.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use domain::{CommitId, ConversationId, ConversationKey, Owner, Status};
use runtime::http::{HttpProblem, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use wire::proto::write::v1 as proto;
use wire::status::Reason;

use conversations::forks::{self, Eraser, Erasure, erase, erase_with_forks};
use conversations::identity::Caller;
use conversations::names::{ReadFrom, candidates, find, read_head};
use conversations::open::read_target;
use history::{Deadline, Freshness, Readable, Target};
use http_listener::callers::frontend::Frontend;
use http_listener::callers::headers::{CallerHeaders, CallerIds};
use http_listener::idempotency::IdempotencyKey;
use http_listener::not_found::not_found;
use http_listener::state::HttpState;

/// How to erase.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EraseChatQuery {
    /// What happens to forks that read through the conversation: `refuse` (the default) or `erase`.
    #[serde(default)]
    #[param(inline)]
    forks: ForkRule,
}

/// What happens to forks that read through an erased conversation.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForkRule {
    /// The erasure is rejected if there are forks.
    #[default]
    Refuse,
    /// Forks are erased too, including forks of forks, if the caller owns all of them.
    Erase,
}

impl From<ForkRule> for forks::ForkRule {
    fn from(rule: ForkRule) -> Self {
        match rule {
            ForkRule::Refuse => Self::Refuse,
            ForkRule::Erase => Self::Erase,
        }
    }
}

/// Work of an erasure that continues in the background.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingErasureBody {
    /// The number of commits of the conversation that are not overwritten yet.
    pending_commits: u64,
}

/// Erase a conversation.
///
/// The erasure is final. Afterwards the conversation does not exist, also for a second erasure; a retry with the same
/// idempotency key gets the first answer. Forks read through their parent. If there are forks, the answer is 409
/// `HAS_FORKS`: `metadata` has their number in `forks`, and up to 20 of the caller's in `fork_ids`. `?forks=erase`
/// erases up to 200 forks first, including forks of forks, if the caller owns all of them. Forks that were just created
/// count too: the answer is 503 until they can be listed. A fork whose parent was erased by someone else cannot be
/// read, but it can be erased.
///
/// The answer is sent when the erasure is durable: from then on the conversation cannot be read. Its commits are
/// overwritten in the background, also if the connection closes. The answer is 204 if that finishes within a second,
/// otherwise 202 with the number of remaining commits; a retry with the same idempotency key returns the current
/// number.
#[utoipa::path(
    delete,
    path = "/api/chats/{id}",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        EraseChatQuery,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    responses(
        (status = 202, description = "Erased; the commits are being overwritten.", body = PendingErasureBody),
        (status = 204, description = "Erased and overwritten."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn erase_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    IdempotencyKey(key): IdempotencyKey,
    Path(id): Path<String>,
    Query(query): Query<EraseChatQuery>,
) -> Result<Response, HttpProblem> {
    let caller = frontend.caller(&state, CallerIds::default()).await?;
    let eraser = Eraser { access: &caller.access, owner: Some(&caller.owner) };
    let erasure = match find(&state, &caller.access, &caller.owner, &id, ReadFrom::Leader).await? {
        Some(chat) => erase_owned(&state, &caller, chat, key, query.forks.into()).await?,
        None => Erasure::NotOwned,
    };
    let erasure = match erasure {
        Erasure::NotOwned => {
            let candidates = candidates(&state, &caller.access, &caller.owner, &id)?;
            erased_before(&state, eraser, &candidates, key).await?
        }
        done @ Erasure::Done { .. } => done,
    };
    match erasure {
        Erasure::Done { pending_commits: 0 } => Ok(StatusCode::NO_CONTENT.into_response()),
        Erasure::Done { pending_commits } => {
            let body = Json(PendingErasureBody { pending_commits });
            Ok((StatusCode::ACCEPTED, body).into_response())
        }
        Erasure::NotOwned => Err(not_found()),
    }
}

/// Erases a conversation that the caller owned a moment ago.
async fn erase_owned(
    state: &HttpState,
    caller: &Caller,
    chat: ConversationKey,
    key: Option<CommitId>,
    rule: forks::ForkRule,
) -> Result<Erasure, HttpProblem> {
    let target = Target { freshness: Freshness::Leader, ..read_target(state, caller, chat).await? };
    let chat = &target.key.conversation;
    let eraser = Eraser { access: &caller.access, owner: Some(&caller.owner) };
    let is_own = |owner: &Option<Owner>| owner.as_ref() == Some(&caller.owner);
    let readable = Readable::read(&state.gateway.reader, &target).await;
    match readable? {
        Readable::Yes(owner) if is_own(&owner) => Ok(erase_with_forks(state, eraser, chat, key, rule).await?),
        // Its forks cannot be read either.
        Readable::AncestorErased(owner) if is_own(&owner) => {
            Ok(erase(state, eraser, chat, key, proto::ForkRule::Sever).await?)
        }
        Readable::Yes(_) | Readable::AncestorErased(_) | Readable::No => Ok(Erasure::NotOwned),
    }
}

/// Whether a retry of this request erased one of these conversations before. The writer is called only for tombstones and with
/// the key, so that this erases nothing and discloses nothing.
async fn erased_before(
    state: &HttpState,
    eraser: Eraser<'_>,
    candidates: &[ConversationKey],
    key: Option<CommitId>,
) -> Result<Erasure, HttpProblem> {
    let Some(key) = key else {
        return Ok(Erasure::NotOwned);
    };
    for chat in candidates {
        if is_tombstone(state, chat, key).await? {
            return retry(state, eraser, &chat.conversation, key).await;
        }
    }
    Ok(Erasure::NotOwned)
}

/// Whether the last commit of a conversation is its erasure with this key.
async fn is_tombstone(state: &HttpState, chat: &ConversationKey, key: CommitId) -> Result<bool, HttpProblem> {
    let head = read_head(state, chat, ReadFrom::Leader, Deadline::until(None)).await?;
    Ok(head.is_some_and(|(head, _)| {
        let last = head.recent.last();
        head.status == Status::Erased && last.is_some_and(|last| last.id == key)
    }))
}

/// Repeats the request. The rule of the first one is part of the request that the key identifies.
async fn retry(
    state: &HttpState,
    eraser: Eraser<'_>,
    chat: &ConversationId,
    key: CommitId,
) -> Result<Erasure, HttpProblem> {
    for rule in [proto::ForkRule::Refuse, proto::ForkRule::Sever] {
        match erase(state, eraser, chat, Some(key), rule).await {
            Err(problem) if problem.reason() == Reason::IdempotencyKeyReused => {}
            answer => return Ok(answer?),
        }
    }
    Ok(Erasure::NotOwned)
}
