//! `POST /openai/v1/conversations/{id}/items`: appends items.

use axum::extract::State;
use axum::http::HeaderMap;
use runtime::http::{HttpProblem, Json, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::append_items::ItemsRequest;
use super::{ItemListObject, NewItems};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use http_listener::state::HttpState;

/// The items to append.
#[derive(Debug, Deserialize, ToSchema)]
pub struct CreateItemsBody {
    /// The items, in order; at most 500. Of every type; unknown types and members are kept verbatim.
    #[schema(value_type = Vec<Object>)]
    items: Vec<Box<RawValue>>,
}

/// Append items to a conversation.
///
/// All of them or none are recorded, as one commit. An `item_reference` appends a copy of an item of the conversation. A request
/// that overlaps with another one gets 400 `conversation_locked`. An equal request that overlaps, or has the header
/// `x-stainless-retry-count` above 0 within a minute, gets the first answer.
#[utoipa::path(
    post,
    path = "/openai/v1/conversations/{id}/items",
    tag = "openai",
    params(("id" = String, Path, description = "The conversation."), OpenAiHeaders),
    request_body = CreateItemsBody,
    responses((status = 200, description = "The new items.", body = ItemListObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn create_openai_items(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    headers: HeaderMap,
    Path(id): Path<String>,
    Json(body): Json<CreateItemsBody>,
) -> Result<Json<ItemListObject>, HttpProblem> {
    let items = NewItems::read(&body.items)?;
    if body.items.is_empty() {
        caller.writable(&state, &id).await?;
        return Ok(Json(ItemListObject::new(Vec::new(), false)));
    }
    let request = ItemsRequest {
        state: &state,
        caller: &caller,
        id: &id,
        headers: &headers,
        destination: caller.destination(&state, &id).await?,
        items: &body.items,
    };
    request.append(items).await.map(Json)
}
