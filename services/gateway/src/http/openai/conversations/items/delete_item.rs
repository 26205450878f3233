//! `DELETE /openai/v1/conversations/{id}/items/{item_id}`: deletes the newest item.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::event::{Fact, HistoryRewound};
use domain::{ConversationId, RecordedEvent, Version};
use openai_api::items::open_calls::OpenBefore;
use openai_api::items::stored_item::StoredItem;
use runtime::http::{HttpProblem, Json, Path};
use wire::proto::event::v1 as proto;

use super::find_item::{find, newest_event};
use super::{NewItems, item_not_found, items_of};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::conversations::{ConversationObject, object};
use crate::http::openai::rejected::rejected;
use crate::http::openai::retry_count::is_retry;
use conversations::request_hash::RequestHash;
use http_listener::state::HttpState;

/// Delete the newest item of a conversation.
///
/// The history continues from before the item: no list, page or context contains it. It stays in the record until the
/// conversation is erased. Another item than the newest is rejected with 400 `ITEM_NOT_NEWEST`.
#[utoipa::path(
    delete,
    path = "/openai/v1/conversations/{id}/items/{item_id}",
    tag = "openai",
    params(
        ("id" = String, Path, description = "The conversation."),
        ("item_id" = String, Path, description = "The item."),
        OpenAiHeaders,
    ),
    responses((status = 200, description = "The conversation.", body = ConversationObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn delete_openai_item(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    headers: HeaderMap,
    Path((id, item_id)): Path<(String, String)>,
) -> Result<Json<ConversationObject>, HttpProblem> {
    let writable = caller.writable(&state, &id).await?;
    let target = caller.target(&state, &id).await?;
    let request = RequestHash::of(&writable.destination.key, ["delete item", &item_id]);
    let earlier = is_retry(&headers).then(|| request.earlier(&writable.head, state.now())).flatten();
    if earlier.is_none() {
        let snapshot = caller.open(&state, &target).await?;
        let item = find(&snapshot, &item_id).await?.ok_or_else(item_not_found)?;
        let newest = newest_event(&snapshot).await?.ok_or_else(item_not_found)?;
        let events = without_last(&target.key.conversation, &newest, &item)?;
        let append = writable.append(request.next_key(&writable.head), events);
        caller.request(&state).send(append).await.map_err(rejected)?;
    }
    object(caller.open(&state, &target).await?).await.map(Json)
}

/// The events that remove the last item of the newest event: a rewind to before the event, and its other items again.
fn without_last(
    conversation: &ConversationId,
    newest: &RecordedEvent,
    item: &StoredItem,
) -> Result<Vec<proto::Event>, HttpProblem> {
    let mut items = items_of(conversation, newest)?;
    if items.pop().is_none_or(|last| last.place != item.place) {
        let detail = "the item is not the newest of the conversation: delete the items after it first, or fork the conversation from before it";
        return Err(HttpProblem::of_field("ITEM_NOT_NEWEST", "item_id", detail));
    }
    let rewound = Fact::from(HistoryRewound { to: Version(newest.version.0.saturating_sub(1)) });
    let others: Vec<_> = items.into_iter().map(|item| item.json).collect();
    let mut events = vec![wire::event::fact_to_proto(&rewound)];
    events.extend(NewItems::read(&others)?.into_events(OpenBefore::Known(&[]))?);
    Ok(events)
}
