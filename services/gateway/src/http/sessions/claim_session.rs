//! `POST /api/sessions/claim`: a user who has signed in takes over what they began as a session.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use domain::{ConversationId, Owner, SessionId};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::queries::ListFilter;
use runtime::http::{HttpProblem, Json};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;
use wire::conversation::owner_to_proto;
use wire::proto::write::v1 as write;

use crate::http::frontend::Frontend;
use crate::http::owned_chat::{command_target, is_others};
use crate::http::state::HttpState;
use crate::http::{catch_up, problem};
use crate::identity::Caller;
use crate::listing::{Listing, Paging};
use history::Deadline;

/// Most conversations that one request takes over; with more it says `pending`.
pub const CLAIMED_MAX: u32 = 1_000;
/// How long one request goes on with taking over; with more to do it says `pending`.
pub const CLAIMING_MAX: Duration = Duration::from_secs(5);
/// How often one request begins with the newest again, since one that is used moves to where it was before; with no pass
/// that met all of them it says `pending`.
pub const PASSES_MAX: u32 = 4;
/// Conversations that change hands at once.
const AT_ONCE: usize = 16;
/// Conversations of a page.
const PAGE: u32 = 100;

/// Whose conversations to take over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSessionBody {
    /// The session that the user was, as it was issued; also as the header `x-session-id`, or as the cookie.
    session_id: Option<String>,
}

/// What came of it.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClaimedBody {
    /// How many conversations are the user's now that were the session's before.
    #[schema(example = 3)]
    claimed: u32,
    /// Whether there may be more: ask again after a moment.
    pending: bool,
}

/// Take over a session's conversations.
///
/// All that the session began with this agent before the request becomes the user's, also where it is used meanwhile, and
/// where an answer is being made, which goes on. The session itself is needed, as it was issued: an owner's id is none. Asking again changes nothing; `POST /api/sessions/release` gives a conversation back. Agents that know
/// no users refuse it.
#[utoipa::path(
    post,
    path = "/api/sessions/claim",
    tag = "sessions",
    request_body = ClaimSessionBody,
    responses((status = 200, description = "They are the user's.", body = ClaimedBody)),
    security(("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn claim_session(
    State(state): State<HttpState>,
    frontend: Frontend,
    Json(body): Json<ClaimSessionBody>,
) -> Result<Json<ClaimedBody>, HttpProblem> {
    let user = known_user(&state, &frontend).await?;
    let session = frontend.issued_session(&state, body.session_id)?;
    Ok(Json(claim(&state, &user, session).await?))
}

/// The user whom a token names, where the agent knows users.
pub(super) async fn known_user(
    state: &HttpState,
    frontend: &Frontend,
) -> Result<Caller, HttpProblem> {
    let user = frontend.user(state).await?;
    if !frontend.rule(state).knows_users() {
        let detail = "the agent knows no users: set its identity mode to signed or trust";
        let status = StatusCode::FORBIDDEN;
        return Err(HttpProblem::new(status, "USERS_NOT_KNOWN", detail));
    }
    Ok(user)
}

/// What is left to do for a claim.
struct Claim {
    listing: Listing,
    session: Owner,
    deadline: Instant,
    claimed: u32,
}

/// How far a pass came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// It met all that there are.
    Whole,
    /// It met every page; what was used meanwhile may have moved from one that was to come to one that was read.
    Paged,
    /// It had to stop.
    Cut,
}

/// Takes over what the rows list as the session's, once they hold all that was recorded before, and again until a pass is
/// sure to have met it all.
async fn claim(
    state: &HttpState,
    user: &Caller,
    session: SessionId,
) -> Result<ClaimedBody, HttpProblem> {
    let mut claim = Claim {
        listing: Listing::of(ListFilter::Session {
            agent: user.access.agent.clone(),
            session: session.clone(),
        }),
        session: Owner::Session(session),
        deadline: Instant::now() + CLAIMING_MAX,
        claimed: 0,
    };
    let mut pending = true;
    for _ in 0..PASSES_MAX {
        let is_reached = catch_up::reached(&state.gateway).await;
        let is_reached = is_reached.map_err(problem::of)?;
        let passed = pass(state, user, &mut claim).await?;
        pending = !is_reached || passed != Pass::Whole;
        if !is_reached || passed != Pass::Paged || Instant::now() >= claim.deadline {
            break;
        }
    }
    Ok(ClaimedBody {
        claimed: claim.claimed,
        pending,
    })
}

/// Pages once through what the rows list as the session's. Pages go forward only, so that what has changed hands, and may
/// still be listed, is not met again.
async fn pass(state: &HttpState, user: &Caller, claim: &mut Claim) -> Result<Pass, HttpProblem> {
    let before = claim.claimed;
    let mut token = String::new();
    loop {
        let paging = Paging {
            token: &token,
            size: PAGE,
            deadline: Deadline::until(None),
        };
        let tenant = &user.access.tenant;
        let page = claim
            .listing
            .page(&state.gateway, tenant, paging, |one| (one, 0));
        let page = page.await.map_err(problem::of)?;
        let theirs = page.conversations.into_iter();
        let hand_over = theirs.map(|one| change_hands(state, user, &claim.session, one.id));
        let changed: Vec<bool> = stream::iter(hand_over)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        let changed = changed.iter().filter(|changed| **changed).count();
        claim.claimed += u32::try_from(changed).unwrap_or(PAGE);
        let Some(next) = page.next else {
            // One page is one look at all of them; where nothing changed hands, they are others' that the rows still list.
            let is_whole = token.is_empty() || claim.claimed == before;
            return Ok(if is_whole { Pass::Whole } else { Pass::Paged });
        };
        if claim.claimed >= CLAIMED_MAX || Instant::now() >= claim.deadline {
            return Ok(Pass::Cut);
        }
        token = next;
    }
}

/// Whether it was the session's and is the user's now; one that is somebody else's meanwhile, or gone, is left alone.
async fn change_hands(
    state: &HttpState,
    user: &Caller,
    session: &Owner,
    conversation: ConversationId,
) -> Result<bool, HttpProblem> {
    let request = write::ChangeOwnerRequest {
        target: Some(command_target(&user.access, &conversation, String::new())),
        owner: Some(owner_to_proto(&user.owner)),
        expected_owner: Some(owner_to_proto(session)),
    };
    match state.commands.change_owner(request).await {
        Ok(result) => Ok(result.first_version > 0),
        Err(problem) if is_others(&problem) => Ok(false),
        Err(problem) => Err(problem),
    }
}
