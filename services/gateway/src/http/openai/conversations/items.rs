//! `/openai/v1/conversations/{id}/items`: the items of a conversation.

mod append_items;
pub mod create_items;
pub mod delete_item;
pub(in crate::http::openai) mod find_item;
pub mod get_item;
pub mod list_items;
pub mod list_query;
pub(in crate::http::openai) mod new_items;
mod reopened_calls;

pub(in crate::http::openai) use new_items::{Appended, NewItems};

use axum::http::StatusCode;
use domain::{ConversationId, EventKind, RecordedEvent};
use history::{Direction, Range};
use openai_api::conversation_ids::api_id;
use openai_api::items::stored_item::{StoredItem, items};
use runtime::http::HttpProblem;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

/// The events that are items.
pub(in crate::http::openai) const ITEM_KINDS: [EventKind; 3] =
    [EventKind::MessageAppended, EventKind::ToolCalled, EventKind::ToolReturned];

/// A page ends before its events exceed this size.
pub(in crate::http::openai) const ITEMS_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// The items in one direction.
fn item_range(direction: Direction) -> Range<'static> {
    Range { kinds: &ITEM_KINDS, ..Range::all(direction) }
}

/// A list of items.
#[derive(Debug, Serialize, ToSchema)]
pub struct ItemListObject {
    /// Always `list`.
    object: &'static str,
    /// The items.
    #[schema(value_type = Vec<Object>)]
    data: Vec<Box<RawValue>>,
    /// The id of the first item; `null` if there is none.
    #[schema(required)]
    first_id: Option<String>,
    /// The id of the last item: `after` of the next page.
    #[schema(required)]
    last_id: Option<String>,
    /// Whether there are more items.
    has_more: bool,
}

impl ItemListObject {
    fn new(items: Vec<StoredItem>, has_more: bool) -> Self {
        Self {
            object: "list",
            first_id: items.first().map(|item| item.id.clone()),
            last_id: items.last().map(|item| item.id.clone()),
            has_more,
            data: items.into_iter().map(|item| item.json).collect(),
        }
    }
}

/// The items of a recorded event of a conversation.
///
/// # Errors
/// 500: a document of the event is not JSON.
pub(in crate::http::openai) fn items_of(
    conversation: &ConversationId,
    event: &RecordedEvent,
) -> Result<Vec<StoredItem>, HttpProblem> {
    items(event, api_id(conversation)).map_err(|_| {
        let detail = format!("event {} cannot be written as items", event.version);
        HttpProblem::new(StatusCode::INTERNAL_SERVER_ERROR, "DATA_CORRUPT", detail)
    })
}

/// The conversation has no such item.
fn item_not_found() -> HttpProblem {
    let detail = "no such item in this conversation: list its items";
    HttpProblem::new(StatusCode::NOT_FOUND, "ITEM_NOT_FOUND", detail)
}
