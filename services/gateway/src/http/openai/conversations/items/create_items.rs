//! `POST /openai/v1/conversations/{id}/items`: appends items.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::Version;
use history::{Direction, Page, PageBounds, Query, Snapshot, View, decode};
use runtime::http::{HttpProblem, Json, Path};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::{self as write, CommitResult};
use wire::status::Reason;

use super::find_item::find;
use super::list_items::ITEMS_BYTES_MAX;
use super::new_items::unresolved;
use super::reopened_calls::{Reopened, reopened};
use super::{Appended, ItemListObject, NewItems, items_of};
use crate::http::commands::result_for_caller;
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use crate::http::openai::conversations::retry::RequestHash;
use crate::http::openai::conversations::write::{Destination, Writable, rejected};
use crate::http::openai::conversations::{open, target};
use crate::http::openai::items::new_item::read;
use crate::http::openai::items::open_calls::OpenBefore;
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
        Writable::find(&state, &caller, &id).await?;
        return Ok(Json(ItemListObject::new(Vec::new(), false)));
    }
    let request = NewItemsRequest {
        state: &state,
        caller: &caller,
        id: &id,
        headers: &headers,
        destination: Destination::find(&state, &caller, &id).await?,
        items: &body.items,
    };
    match request.append_unread(items).await {
        Err(problem) if depends_on_open_calls(&problem) => request.append_read().await.map(Json),
        appended => appended.map(Json),
    }
}

/// Whether the writer rejected a call or an output because of the calls that are open. An item is not rejected for this reason,
/// but recorded verbatim.
fn depends_on_open_calls(problem: &HttpProblem) -> bool {
    let reasons = [
        Reason::ToolCallNotOpen,
        Reason::ToolCallAlreadyOpen,
        Reason::TooManyOpenCalls,
    ];
    reasons.iter().any(|reason| reason.as_str() == problem.code)
}

/// A request that appends items.
struct NewItemsRequest<'a> {
    state: &'a HttpState,
    caller: &'a OpenAiCaller,
    id: &'a str,
    headers: &'a HeaderMap,
    destination: Destination,
    items: &'a [Box<RawValue>],
}

/// The events of a commit; those of the items are its last ones.
struct NewEvents {
    events: Vec<event::Event>,
    /// The version that their form depends on.
    version: Option<Version>,
}

impl NewItemsRequest<'_> {
    /// Appends the items without a read of the conversation: calls are taken for new ones, and outputs for those of open calls.
    async fn append_unread(&self, items: NewItems) -> Result<ItemListObject, HttpProblem> {
        let items = self.resolved(items).await?;
        let events = items.into_events(OpenBefore::Unknown)?;
        let version = None;
        self.append(NewEvents { events, version }).await
    }

    /// Appends the items at the version of the head that was read.
    async fn append_read(&self) -> Result<ItemListObject, HttpProblem> {
        let head = Writable::find(self.state, self.caller, self.id).await?.head;
        let items = self.resolved(NewItems::read(self.items)?).await?;
        let target = target(self.state, self.caller, self.id).await?;
        let snapshot = open(self.state, self.caller, &target).await?;
        let Reopened {
            mut events,
            open_calls,
        } = reopened(&snapshot, &head, &items).await?;
        events.extend(items.into_events(OpenBefore::Known(&open_calls))?);
        let version = Some(head.version);
        self.append(NewEvents { events, version }).await
    }

    /// The items with copies instead of references.
    async fn resolved(&self, mut items: NewItems) -> Result<NewItems, HttpProblem> {
        if !items.references().is_empty() {
            let target = target(self.state, self.caller, self.id).await?;
            let snapshot = open(self.state, self.caller, &target).await?;
            resolve(&snapshot, &mut items).await?;
        }
        Ok(items)
    }

    async fn append(&self, new: NewEvents) -> Result<ItemListObject, HttpProblem> {
        let NewEvents { events, version } = new;
        let texts = self.items.iter().map(|item| item.get());
        let texts = ["create items"].into_iter().chain(texts);
        let hash = RequestHash::of(&self.destination.key, texts);
        let request = write::AppendEventsRequest {
            target: Some(write::CommandTarget {
                expected_version: version.map(|version| version.0),
                ..self.destination.target()
            }),
            events: events.clone(),
            expected_owner: self.caller.expected_owner(),
            attempt: Some(hash.attempt(self.headers)),
        };
        let mut writer = self.state.commands.write_for(&self.caller.service.call);
        let answer = writer.append_events(request).await;
        let result = result_for_caller(answer, |answer| answer.result).map_err(rejected)?;
        if result.replayed {
            return self.recorded(&result).await;
        }
        let appended = Appended {
            preceding: events.len().saturating_sub(self.items.len()),
            events,
            result,
        };
        appended.into_list()
    }

    /// The items of the commit of an earlier attempt.
    async fn recorded(&self, commit: &CommitResult) -> Result<ItemListObject, HttpProblem> {
        let target = target(self.state, self.caller, self.id).await?;
        let snapshot = open(self.state, self.caller, &target).await?;
        let items = u64::try_from(self.items.len()).unwrap_or_default();
        let query = Query {
            from: Version(commit.version.saturating_sub(items)).next(),
            to: Version(commit.version),
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
