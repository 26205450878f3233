//! `DELETE /api/chats/{id}`: erase a conversation for good.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use domain::{CommitId, Status};
use runtime::http::{HttpProblem, Path, Query};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use wire::proto::write::v1::ForkRule;
use wire::status::Reason;

use super::erasure::{Erased, erase};
use super::forks;
use crate::http::frontend::{CallerHeaders, Frontend, Named};
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Standing, not_found, standing, target};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::identity::Caller;
use history::{Freshness, Target};

/// What goes with it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct EraseChatQuery {
    /// What becomes of the forks that read through it: `refuse`, as without it, or `erase`.
    #[serde(default)]
    #[param(inline)]
    forks: forks::ForkRule,
}

/// What an erasure leaves to do in the background.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingErasureBody {
    /// How many commits of the conversation are not overwritten yet.
    pending_commits: u64,
}

/// Erase a conversation for good.
///
/// Nothing brings it back. From then on it is not there: also for a second erasure, but for a retry under the first one's
/// idempotency key. Forks read through what they go on from. While there are any, the answer is 409 `HAS_FORKS`: its
/// `metadata` tells in `forks` how many, and in `fork_ids` those of the caller's, up to 20 of them. `?forks=erase` erases up
/// to 200 forks first, and the forks of those, where all of them are the caller's. Forks that were just begun count too: while
/// they cannot be told, the answer is 503. A fork of what somebody else erased cannot be read, but erased.
///
/// The answer comes once the erasure is durable: from then on nobody can read the conversation. Its commits are overwritten
/// in the background, whatever becomes of the connection. The answer is 204 when that is complete within a second, else 202
/// with the number of commits that are left; a retry under the same idempotency key counts anew.
#[utoipa::path(
    delete,
    path = "/api/chats/{id}",
    tag = "chats",
    params(
        ("id" = String, Path, description = "The conversation."),
        CallerHeaders,
        EraseChatQuery,
        ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries."),
    ),
    responses(
        (status = 202, description = "It is erased; its commits are being overwritten.", body = PendingErasureBody),
        (status = 204, description = "It is erased, and all of it is overwritten."),
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
    let caller = frontend.caller(&state, Named::default()).await?;
    let target = Target {
        freshness: Freshness::Leader,
        ..target(&state, &caller, &id)?
    };
    let chat = &target.key.conversation;
    let erased = match standing(&state, &caller, &target).await? {
        Standing::Readable => forks::erase_with(&state, &caller, chat, key, query.forks).await?,
        // Whatever goes on from it cannot be read either.
        Standing::Severed => erase(&state, &caller, chat, key, ForkRule::Sever).await?,
        Standing::NotTheirs => erased_before(&state, &caller, &target, key).await?,
    };
    match erased {
        Erased::Done { pending_commits: 0 } => Ok(StatusCode::NO_CONTENT.into_response()),
        Erased::Done { pending_commits } => {
            let body = Json(PendingErasureBody { pending_commits });
            Ok((StatusCode::ACCEPTED, body).into_response())
        }
        Erased::NotTheirs => Err(not_found()),
    }
}

/// Whether this very request erased it before, which the writer tells. It is asked of tombstones under the key alone, so
/// that nothing is erased here and nothing told of what stands.
async fn erased_before(
    state: &HttpState,
    caller: &Caller,
    target: &Target,
    key: Option<CommitId>,
) -> Result<Erased, HttpProblem> {
    let Some(key) = key else {
        return Ok(Erased::NotTheirs);
    };
    let last = state.gateway.reader.record.last_from_leader(&target.key);
    let last = target.deadline.record(last).await.map_err(problem::of)?;
    let head = last.map(|last| last.open_head()).transpose();
    let head = head.map_err(|corrupt| problem::of(crate::problem::of_corrupt(&corrupt)))?;
    let is_tombstone = head.is_some_and(|head| {
        let last = head.recent.last();
        head.status == Status::Erased && last.is_some_and(|last| last.id == key)
    });
    if !is_tombstone {
        return Ok(Erased::NotTheirs);
    }
    // By which rule the first request erased it is part of that request.
    for rule in [ForkRule::Refuse, ForkRule::Sever] {
        let chat = &target.key.conversation;
        match erase(state, caller, chat, Some(key), rule).await {
            Err(problem) if problem.code == Reason::IdempotencyKeyReused.as_str() => {}
            answer => return answer,
        }
    }
    Ok(Erased::NotTheirs)
}
