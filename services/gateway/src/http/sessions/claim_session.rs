//! `POST /api/sessions/claim`: a user who has signed in becomes the owner of a session's conversations.

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

use conversations::commands::{Issuer, command_target};
use conversations::identity::Caller;
use conversations::listing::{Listing, Paging};
use conversations::open::is_not_owned;
use conversations::positions::catch_up;
use history::Deadline;
use http_listener::callers::frontend::Frontend;
use http_listener::state::HttpState;

/// Maximum number of conversations per request; above it the answer is `pending`.
pub const CLAIMED_MAX: u32 = 1_000;
/// Maximum duration of a request; above it the answer is `pending`.
pub const CLAIMING_MAX: Duration = Duration::from_secs(5);
/// Maximum number of passes: a conversation that is used moves within the listing, so each pass starts with the newest
/// again. If no pass is complete, the answer is `pending`.
pub const PASSES_MAX: u32 = 4;
/// Conversations that change their owner concurrently.
const AT_ONCE: usize = 16;
/// Page size.
const PAGE: u32 = 100;

/// The session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSessionBody {
    /// The issued session; also as the header `x-session-id`, or as the cookie.
    session_id: Option<String>,
}

/// The result.
#[derive(Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClaimedBody {
    /// Number of conversations whose owner changed.
    #[schema(example = 3)]
    claimed: u32,
    /// Whether there may be more: repeat the request after a moment.
    pending: bool,
}

/// Take over a session's conversations.
///
/// The user becomes the owner of everything that the session created with this agent before the request, also if it is
/// in use. Active runs continue. The request needs the issued session itself, not the id of its owner. A repeated
/// request changes nothing; `POST /api/sessions/release` returns a conversation to a session. Agents without users
/// reject the request.
#[utoipa::path(
    post,
    path = "/api/sessions/claim",
    tag = "sessions",
    request_body = ClaimSessionBody,
    responses((status = 200, description = "The user owns them.", body = ClaimedBody)),
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

/// The user of the token, if the agent has users.
pub(super) async fn known_user(state: &HttpState, frontend: &Frontend) -> Result<Caller, HttpProblem> {
    let user = frontend.user(state).await?;
    if !frontend.identity_rule(state).has_users() {
        let detail = "the agent has no users: set its identity mode to signed or trust";
        let status = StatusCode::FORBIDDEN;
        return Err(HttpProblem::new(status, "USERS_NOT_KNOWN", detail));
    }
    Ok(user)
}

/// The state of a claim.
struct Claim {
    listing: Listing,
    session: Owner,
    deadline: Instant,
    claimed: u32,
}

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// It read every conversation.
    Whole,
    /// It read every page, but conversations in use may have moved to a page that was read before.
    Paged,
    /// It reached a bound.
    Cut,
}

/// Takes over the conversations that the rows list for the session, after the rows include everything that was recorded
/// before. Repeats until a pass is complete.
async fn claim(state: &HttpState, user: &Caller, session: SessionId) -> Result<ClaimedBody, HttpProblem> {
    let mut claim = Claim {
        listing: Listing::of(ListFilter::Session { agent: user.access.agent.clone(), session: session.clone() }),
        session: Owner::Session(session),
        deadline: Instant::now() + CLAIMING_MAX,
        claimed: 0,
    };
    let mut pending = true;
    for _ in 0..PASSES_MAX {
        let is_reached = is_caught_up(state, user).await?;
        let passed = pass(state, user, &mut claim).await?;
        pending = !is_reached || passed != Pass::Whole;
        let may_complete = is_reached && passed == Pass::Paged;
        if !may_complete || Instant::now() >= claim.deadline {
            break;
        }
    }
    if claim.claimed > 0 {
        // The user finds the conversations by their names in the rows.
        pending |= !is_caught_up(state, user).await?;
    }
    Ok(ClaimedBody { claimed: claim.claimed, pending })
}

/// Whether the rows include everything that was recorded before.
async fn is_caught_up(state: &HttpState, user: &Caller) -> Result<bool, HttpProblem> {
    catch_up::reached(&state.gateway, user.access.tenant.tenant()).await.map_err(HttpProblem::from)
}

/// Reads all pages of the listing once. Pages only go forward, so conversations that were taken over and are still
/// listed are not read again.
async fn pass(state: &HttpState, user: &Caller, claim: &mut Claim) -> Result<Pass, HttpProblem> {
    let before = claim.claimed;
    let mut token = String::new();
    loop {
        let paging = Paging { token: &token, size: PAGE, deadline: Deadline::until(None) };
        let tenant = &user.access.tenant;
        let page = claim.listing.page(&state.gateway.reader.read_model, tenant, paging, |one| (one, 0)).await?;
        let conversations = page.conversations.into_iter();
        let changes = conversations.map(|one| change_owner(state, user, &claim.session, one.id));
        let is_claimed: Vec<bool> = stream::iter(changes).buffer_unordered(AT_ONCE).try_collect().await?;
        let claimed = is_claimed.iter().filter(|claimed| **claimed).count();
        claim.claimed += u32::try_from(claimed).unwrap_or(PAGE);
        let Some(next) = page.next else {
            return Ok(complete_pass(PagesRead { has_one: token.is_empty(), claimed: claim.claimed - before }));
        };
        if is_cut(claim.claimed, claim.deadline.saturating_duration_since(Instant::now())) {
            return Ok(Pass::Cut);
        }
        token = next;
    }
}

/// All pages of a pass.
#[derive(Debug, Clone, Copy)]
struct PagesRead {
    /// Whether the listing has a single page.
    has_one: bool,
    /// Number of conversations whose owner changed.
    claimed: u32,
}

/// The end of a pass that read every page. A single page is a complete listing. If no owner changed, the rows lag: the
/// conversations have other owners by now.
fn complete_pass(pages: PagesRead) -> Pass {
    if pages.has_one || pages.claimed == 0 { Pass::Whole } else { Pass::Paged }
}

/// Whether a request ends before the next page. `claimed`: by the whole request; `left`: the time that it has left.
fn is_cut(claimed: u32, left: Duration) -> bool {
    claimed >= CLAIMED_MAX || left.is_zero()
}

/// Whether the owner changed from the session to the user. Conversations with another owner, and erased ones, are
/// skipped.
async fn change_owner(
    state: &HttpState,
    user: &Caller,
    session: &Owner,
    conversation: ConversationId,
) -> Result<bool, HttpProblem> {
    let request = write::ChangeOwnerRequest {
        target: Some(command_target(&user.access.agent, &conversation, None)),
        owner: Some(owner_to_proto(&user.owner)),
        expected_owner: Some(owner_to_proto(session)),
    };
    match state.commands.send(Issuer::Gateway, request).await {
        Ok(result) => Ok(result.first_version > 0),
        Err(problem) if is_not_owned(problem.reason()) => Ok(false),
        Err(problem) => Err(problem.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_with_changes_on_several_pages_is_repeated() {
        let check = |has_one: bool, claimed: u32, expected: Pass| {
            assert_eq!(complete_pass(PagesRead { has_one, claimed }), expected, "{has_one} {claimed}");
        };
        check(true, 0, Pass::Whole);
        check(true, 100, Pass::Whole);
        check(false, 0, Pass::Whole);
        check(false, 1, Pass::Paged);
    }

    #[test]
    fn a_request_ends_at_its_bounds() {
        let second = Duration::from_secs(1);
        let check = |claimed: u32, left: Duration, expected: bool| {
            assert_eq!(is_cut(claimed, left), expected, "{claimed} {left:?}");
        };
        check(0, second, false);
        check(999, second, false);
        check(1_000, second, true);
        check(1_001, second, true);
        check(0, Duration::from_nanos(1), false);
        check(0, Duration::ZERO, true);
        check(1_000, Duration::ZERO, true);
    }
}
