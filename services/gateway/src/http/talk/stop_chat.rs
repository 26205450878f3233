//! `POST /api/chats/{id}/stop`: stop the answer that is being made.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use runtime::http::{HttpProblem, Json, Path};
use serde::Serialize;
use utoipa::ToSchema;

use crate::generation::RunKey;
use crate::http::commands::refused;
use crate::http::frontend::{CallerHeaders, Frontend};
use crate::http::owned_chat::{Owned, asked};
use crate::http::positions;
use crate::http::state::HttpState;

/// The run that was asked to stop.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoppedBody {
    /// The run.
    #[schema(example = "0198c1a2-7c1e-7b5e-9d0a-1f6f0c9b2a11")]
    run_id: String,
}

/// Stop the answer that is being made.
///
/// It ends within a second, wherever it is made; what it has said so far is kept. Closing the page stops nothing.
#[utoipa::path(
    post,
    path = "/api/chats/{id}/stop",
    tag = "chats",
    params(("id" = String, Path, description = "The conversation."), CallerHeaders),
    responses(
        (status = 202, description = "It ends within a second.", body = StoppedBody),
        (status = 204, description = "None is being made."),
    ),
    security(("api_key" = []), ("api_key" = [], "user_token" = []))
)]
pub(in crate::http) async fn stop_chat(
    State(state): State<HttpState>,
    frontend: Frontend,
    Path(id): Path<String>,
) -> Result<Response, HttpProblem> {
    let chat = asked(&state, &frontend, &id).await?;
    stop(&state, &chat).await
}

/// Stops what is being answered in a chat.
pub(super) async fn stop(state: &HttpState, chat: &Owned) -> Result<Response, HttpProblem> {
    let Some(active) = chat.conversation.head.active_run else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let run = RunKey {
        agent: chat.target.access.agent.clone(),
        key: chat.target.key.clone(),
        run: active.id,
    };
    match state.generations.stop(&run).await {
        Ok(result) => {
            positions::wrote(&result.position_token);
            let body = StoppedBody {
                run_id: active.id.to_string(),
            };
            Ok((StatusCode::ACCEPTED, Json(body)).into_response())
        }
        Err(status) => {
            let problem = refused(&status);
            if problem.code == wire::status::Reason::RunNotActive.as_str() {
                // It ended meanwhile.
                return Ok(StatusCode::NO_CONTENT.into_response());
            }
            Err(problem)
        }
    }
}
