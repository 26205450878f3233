//! `POST /v1/admin/conversations/{id}/approvals`: an administrator's word on calls that wait for one.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{Conversation, Owner};
use runtime::http::{HttpProblem, Json, Path};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use wire::status::Problem;

use super::said::{self, ApprovalBody};
use super::send_message::begun;
use super::settled::settled;
use super::turn::Turn;
use crate::http::admin_caller::Admin;
use crate::http::idempotency::IdempotencyKey;
use crate::http::owned_chat::{Acting, Owned, conversation};
use crate::http::problem;
use crate::http::state::HttpState;
use crate::identity::IdentityRule;

/// An administrator's word on calls.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApproveCallsBody {
    /// One for each call; at least one.
    approvals: Vec<ApprovalBody>,
}

/// The run that goes on with the conversation.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovedBody {
    /// The run. It goes on by itself.
    run_id: String,
}

/// Approve or refuse calls of tools.
///
/// Whoever else may: see the agent's setting `approvers`. A run goes on with the conversation at once; the owner follows it as
/// any other. While another goes on: 409 `RUN_ACTIVE`, with its `run_id`.
#[utoipa::path(
    post,
    path = "/v1/admin/conversations/{id}/approvals",
    tag = "admin",
    params(
        ("id" = String, Path, description = "The conversation."),
        ("idempotency-key" = Option<String>, Header, description = "A UUID that names this request for all of its retries."),
    ),
    request_body = ApproveCallsBody,
    responses((status = 202, description = "A run goes on.", body = ApprovedBody)),
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
    said::add_approvals(&mut turn, body.approvals)
        .map_err(|wrong| problem::of(Problem::from(wrong)))?;
    if turn.is_empty() {
        let detail = "approvals is required: name a call";
        return Err(HttpProblem::of_field("FIELD_MISSING", "approvals", detail));
    }
    turn.key = key.0;
    let (conversation, _) = conversation(&state, &target).await?;
    let chat = Owned {
        acting: Acting::Administrator(verified_owner(&state, &conversation)),
        target,
        conversation,
    };
    let chat = settled(&state, chat).await?;
    let begun = begun(&state, &chat, turn).await?;
    let body = ApprovedBody {
        run_id: begun.run.to_string(),
    };
    Ok((StatusCode::ACCEPTED, Json(body)))
}

/// The owner, where the agent takes users by token alone.
fn verified_owner(state: &HttpState, conversation: &Conversation) -> Option<domain::UserId> {
    let agent = state.gateway.registry.agent(&conversation.head.agent)?;
    if let Some(Owner::User(user)) = &conversation.head.owner
        && IdentityRule::of(&agent) == IdentityRule::Signed
    {
        return Some(user.clone());
    }
    None
}
