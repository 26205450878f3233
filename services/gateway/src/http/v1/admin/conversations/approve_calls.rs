//! `POST /v1/admin/conversations/{id}/approvals`: an administrator approves or refuses tool calls.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{Conversation, Owner, ViolationReason};
use http_listener::callers::admin::Admin;
use http_listener::idempotency::IdempotencyKey;
use http_listener::state::HttpState;
use runtime::http::{HttpProblem, Json, Path};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::turns::turn_body::{self, ApprovalBody};
use conversations::identity::IdentityRule;
use conversations::open::{Authority, OwnedChat, read_conversation, settled};
use conversations::turns::start_turn::start_turn;
use conversations::turns::turn::Turn;

/// An administrator's decisions about tool calls.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveCallsBody {
    /// One per call; at least one.
    approvals: Vec<ApprovalBody>,
}

/// The run that continues the conversation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedBody {
    /// The run. It continues without a client.
    run_id: String,
}

/// Approve or refuse tool calls.
///
/// The agent's setting `approvers` defines who else may decide. A run continues the conversation immediately; the owner
/// can stream it. If another run is active: 409 `RUN_ACTIVE`, with its `run_id`.
#[utoipa::path(
    post,
    path = "/v1/admin/conversations/{id}/approvals",
    tag = "admin",
    params(
        ("id" = String, Path, description = "The conversation."),
        ("idempotency-key" = Option<String>, Header, description = "A UUID that identifies this request in all of its retries."),
    ),
    request_body = ApproveCallsBody,
    responses((status = 202, description = "A run continues the conversation.", body = ApprovedBody)),
    security(("bearer" = []))
)]
pub(in crate::http) async fn approve_calls(
    State(state): State<HttpState>,
    admin: Admin,
    key: IdempotencyKey,
    Path(id): Path<String>,
    Json(body): Json<ApproveCallsBody>,
) -> Result<(StatusCode, Json<ApprovedBody>), HttpProblem> {
    let target = admin.target(&state, &id).await?;
    let mut turn = Turn::default();
    turn_body::add_approvals(&mut turn, body.approvals)?;
    if turn.is_empty() {
        let detail = "approvals is required: send at least one";
        return Err(HttpProblem::of_field(ViolationReason::Missing, "approvals", detail));
    }
    turn.key = key.0;
    let (conversation, _) = read_conversation(&state, &target).await?;
    let owned =
        OwnedChat { authority: Authority::Administrator(verified_owner(&state, &conversation)), target, conversation };
    let chat = settled(&state, owned).await?;
    let run = start_turn(&state, &chat, turn).await?;
    let body = ApprovedBody { run_id: run.run.to_string() };
    Ok((StatusCode::ACCEPTED, Json(body)))
}

/// The owner, if the agent identifies users by token only.
fn verified_owner(state: &HttpState, conversation: &Conversation) -> Option<domain::UserId> {
    let agent = state.gateway.registry.agent(&conversation.head.agent)?;
    if let Some(Owner::User(user)) = &conversation.head.owner
        && IdentityRule::of(&agent) == IdentityRule::Signed
    {
        return Some(user.clone());
    }
    None
}
