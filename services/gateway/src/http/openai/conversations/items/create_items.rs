//! `POST /openai/v1/conversations/{id}/items`: appends items.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::RecentCommit;
use history::{Direction, Page, PageBounds, Query, Snapshot, View, decode};
use runtime::http::{HttpProblem, Json, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::find_item::find;
use super::list_items::ITEMS_BYTES_MAX;
use super::new_items::unresolved;
use super::{Appended, ItemListObject, NewItems, items_of};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::conversations::retry::RequestHash;
use crate::http::openai::conversations::write::Writable;
use crate::http::openai::conversations::{open, target};
use crate::http::openai::items::new_item::read;
use crate::http::owned_chat::from_read_error;
use crate::http::problem;
use crate::http::state::HttpState;

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
/// that lost a race gets 400 `conversation_locked`. An equal request at the same version, or with the header
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
    let mut items = NewItems::read(&body.items)?;
    let writable = Writable::find(&state, &caller, &id).await?;
    if body.items.is_empty() {
        return Ok(Json(ItemListObject::new(Vec::new(), false)));
    }
    let texts = body.items.iter().map(|item| item.get());
    let request = RequestHash::of(&writable.key, ["create items"].into_iter().chain(texts));
    if let Some(commit) = request.earlier(&headers, &writable.head, state.now()) {
        let target = target(&state, &caller, &id).await?;
        let snapshot = open(&state, &caller, &target).await?;
        return recorded(&snapshot, &commit).await.map(Json);
    }
    if !items.references().is_empty() {
        let target = target(&state, &caller, &id).await?;
        let snapshot = open(&state, &caller, &target).await?;
        resolve(&snapshot, &mut items).await?;
    }
    let events = items.into_events(&writable.head.open_calls)?;
    let appended = writable.append(&state, &caller, request, events.clone());
    let result = appended.await?;
    Appended { events, result }.into_list().map(Json)
}

/// Replaces references by copies of the items of the conversation.
async fn resolve(snapshot: &Snapshot<'_>, items: &mut NewItems) -> Result<(), HttpProblem> {
    for (index, id) in items.references() {
        let found = find(snapshot, &id).await?;
        let found = found.ok_or_else(|| unresolved("items", index))?;
        let copy = read(&found.json, &format!("items[{index}]"));
        items.resolve(index, copy.map_err(problem::from_violation)?);
    }
    Ok(())
}

/// The items of the commit of an earlier attempt.
async fn recorded(
    snapshot: &Snapshot<'_>,
    commit: &RecentCommit,
) -> Result<ItemListObject, HttpProblem> {
    let query = Query {
        from: commit.first_version,
        to: commit.last_version,
        ..Query::all(Direction::Forward)
    };
    let bounds = PageBounds {
        events_max: u32::MAX,
        bytes_max: ITEMS_BYTES_MAX,
    };
    let mut cursor = snapshot.cursor(query, View::Recorded);
    let page = Page::read(&mut cursor, bounds).await;
    let mut items = Vec::new();
    for row in page.map_err(from_read_error)?.events {
        let event = decode(snapshot.key(), &row).map_err(from_read_error)?;
        items.extend(items_of(&snapshot.key().conversation, &event)?);
    }
    Ok(ItemListObject::new(items, false))
}
