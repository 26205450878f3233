//! Records the items of a request.

use axum::http::HeaderMap;
use domain::Version;
use history::{Bounds, Direction, Page, Range, Snapshot, View, decode};
use openai_api::items::new_item::read;
use openai_api::items::open_calls::OpenBefore;
use registry::Scope;
use runtime::http::HttpProblem;
use serde_json::value::RawValue;
use wire::proto::event::v1 as event;
use wire::proto::write::v1::{self as write, CommitResult};
use wire::status::Reason;

use super::find_item::find;
use super::new_items::unresolved;
use super::reopened_calls::{Reopened, closed_calls, reopened};
use super::{Appended, ITEMS_BYTES_MAX, ItemListObject, NewItems, items_of};
use crate::http::openai::caller::OpenAiCaller;
use crate::http::openai::rejected::rejected;
use crate::http::openai::retry_count::is_retry;
use conversations::back_end_request::Destination;
use conversations::request_hash::RequestHash;
use http_listener::state::HttpState;

/// A request that appends items.
pub(super) struct ItemsRequest<'a> {
    pub(super) state: &'a HttpState,
    pub(super) caller: &'a OpenAiCaller,
    /// The conversation in the path.
    pub(super) id: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) destination: Destination,
    /// At least one item.
    pub(super) items: &'a [Box<RawValue>],
}

/// The events of a commit; those of the items are its last ones.
struct NewEvents {
    events: Vec<event::Event>,
    /// The version that their form depends on.
    version: Option<Version>,
}

impl ItemsRequest<'_> {
    /// Appends the items. The conversation is read only if the writer rejects the form that they get without a read.
    ///
    /// # Errors
    /// 400 `conversation_locked` if the request overlaps with another one; 404 if the caller has no such conversation.
    pub(super) async fn append(&self, items: NewItems) -> Result<ItemListObject, HttpProblem> {
        match self.append_unread(items).await {
            Err(problem) if depends_on_open_calls(&problem) => self.append_read().await,
            appended => appended,
        }
    }

    /// Appends the items without a read of the conversation: calls are taken for new ones, and outputs for those of open calls.
    async fn append_unread(&self, items: NewItems) -> Result<ItemListObject, HttpProblem> {
        let items = self.resolved(items).await?;
        let events = items.into_events(OpenBefore::Unknown)?;
        let version = None;
        self.record(NewEvents { events, version }).await
    }

    /// Appends the items at the version of the head that was read.
    async fn append_read(&self) -> Result<ItemListObject, HttpProblem> {
        let head = self.caller.writable(self.state, self.id).await?.head;
        let items = self.resolved(NewItems::read(self.items)?).await?;
        let closed = closed_calls(&head, &items);
        let Reopened { mut events, open_calls } = if closed.is_empty() || !self.caller.service.has_scope(Scope::Read) {
            Reopened::none(&head)
        } else {
            let target = self.caller.target(self.state, self.id).await?;
            let snapshot = self.caller.open(self.state, &target).await?;
            reopened(&snapshot, &head, &closed, items.len()).await?
        };
        events.extend(items.into_events(OpenBefore::Known(&open_calls))?);
        let version = Some(head.version);
        self.record(NewEvents { events, version }).await
    }

    /// The items with copies instead of references.
    async fn resolved(&self, mut items: NewItems) -> Result<NewItems, HttpProblem> {
        if !items.references().is_empty() {
            let target = self.caller.target(self.state, self.id).await?;
            let snapshot = self.caller.open(self.state, &target).await?;
            resolve(&snapshot, &mut items).await?;
        }
        Ok(items)
    }

    async fn record(&self, new: NewEvents) -> Result<ItemListObject, HttpProblem> {
        let NewEvents { events, version } = new;
        let texts = ["create items"].into_iter().chain(self.items.iter().map(|item| item.get()));
        let hash = RequestHash::of(&self.destination.key, texts);
        let request = write::AppendEventsRequest {
            target: Some(write::CommandTarget {
                expected_version: version.map(|version| version.0),
                ..self.destination.target(None)
            }),
            attempt: Some(write::Attempt { is_retry: is_retry(self.headers), ..hash.attempt() }),
            ..self.destination.append(None, events.clone())
        };
        let result = self.caller.request(self.state).send(request).await.map_err(rejected)?;
        if result.replayed {
            return self.earlier(&result).await;
        }
        let appended = Appended { preceding: events.len().saturating_sub(self.items.len()), events, result };
        appended.into_list()
    }

    /// The items of the commit of an earlier attempt.
    async fn earlier(&self, commit: &CommitResult) -> Result<ItemListObject, HttpProblem> {
        let target = self.caller.target(self.state, self.id).await?;
        let snapshot = self.caller.open(self.state, &target).await?;
        let items = u64::try_from(self.items.len()).unwrap_or_default();
        let range = Range {
            from: Version(commit.version.saturating_sub(items)).next(),
            to: Version(commit.version),
            ..Range::all(Direction::Forward)
        };
        let bounds = Bounds { events_max: usize::MAX, bytes_max: ITEMS_BYTES_MAX };
        let mut cursor = snapshot.cursor(range, View::Recorded);
        let page = Page::read(&mut cursor, bounds).await;
        let mut items = Vec::new();
        for row in page?.events {
            let event = decode(snapshot.key(), &row)?;
            items.extend(items_of(&snapshot.key().conversation, &event)?);
        }
        Ok(ItemListObject::new(items, false))
    }
}

/// Whether the writer rejected a call or an output because of the calls that are open. An item is not rejected for this reason,
/// but recorded verbatim.
fn depends_on_open_calls(problem: &HttpProblem) -> bool {
    let reasons = [Reason::ToolCallNotOpen, Reason::ToolCallAlreadyOpen, Reason::TooManyOpenCalls];
    reasons.iter().any(|reason| reason.as_str() == problem.code)
}

/// Replaces references by copies of the items of the conversation.
async fn resolve(snapshot: &Snapshot<'_>, items: &mut NewItems) -> Result<(), HttpProblem> {
    for (index, id) in items.references() {
        let found = find(snapshot, &id).await?.ok_or_else(|| unresolved("items", index))?;
        let copy = read(&found.json, &format!("items[{index}]"));
        items.resolve(index, copy?);
    }
    Ok(())
}
