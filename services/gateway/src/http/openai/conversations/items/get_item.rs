//! `GET /openai/v1/conversations/{id}/items/{item_id}`: one item.

use axum::extract::State;
use runtime::http::{HttpProblem, Json, Path};
use serde_json::value::RawValue;

use super::find_item::find;
use super::item_not_found;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use http_listener::state::HttpState;

/// An item of a conversation.
#[utoipa::path(
    get,
    path = "/openai/v1/conversations/{id}/items/{item_id}",
    tag = "openai",
    params(
        ("id" = String, Path, description = "The conversation."),
        ("item_id" = String, Path, description = "The item."),
        OpenAiHeaders,
    ),
    responses((status = 200, description = "The item.", body = Object)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn get_openai_item(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path((id, item_id)): Path<(String, String)>,
) -> Result<Json<Box<RawValue>>, HttpProblem> {
    let target = caller.target(&state, &id).await?;
    let snapshot = caller.open(&state, &target).await?;
    let found = find(&snapshot, &item_id).await?;
    found.map(|item| Json(item.json)).ok_or_else(item_not_found)
}
