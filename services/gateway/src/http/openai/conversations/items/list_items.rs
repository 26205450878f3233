//! `GET /openai/v1/conversations/{id}/items`: the items of a conversation, page by page.

use axum::extract::State;
use domain::Version;
use history::{Bounds, Direction, Page, Snapshot, decode};
use openai_api::items::item_id::ItemPlace;
use openai_api::items::stored_item::StoredItem;
use read_model::queries::EventQuery;
use runtime::http::{HttpProblem, Json, Path, Query};
use wire::status::Problem;

use super::find_item::find;
use super::list_query::{ItemOrder, ListItemsQuery};
use super::{ITEMS_BYTES_MAX, ItemListObject, item_range, items_of};
use crate::http::openai::caller::{OpenAiCaller, OpenAiHeaders};
use conversations::end_user::IdOrigin;
use http_listener::state::HttpState;

/// List the items of a conversation.
///
/// Items that were deleted, and events that a rewind hides, are not listed. A page ends early, with `has_more`, when its
/// events have 8 MiB.
#[utoipa::path(
    get,
    path = "/openai/v1/conversations/{id}/items",
    tag = "openai",
    params(
        ("id" = String, Path, description = "The conversation."),
        ListItemsQuery,
        OpenAiHeaders,
    ),
    responses((status = 200, description = "A page of items.", body = ItemListObject)),
    security(("service_token" = []))
)]
pub(in crate::http) async fn list_openai_items(
    State(state): State<HttpState>,
    caller: OpenAiCaller,
    Path(id): Path<String>,
    Query(query): Query<ListItemsQuery>,
) -> Result<Json<ItemListObject>, HttpProblem> {
    let target = caller.target(&state, &id).await?;
    if query.after.is_some() {
        let snapshot = caller.open(&state, &target).await?;
        let listing = Listing::of(&snapshot, &query, ALL).await?;
        return listing.read(&snapshot).await.map(Json);
    }
    // The first page is read with the conversation, by one statement.
    let listing = Listing::first(&query, ALL)?;
    let (events, bounds) = (listing.query(), listing.bounds());
    let opened = caller
        .request(&state)
        .open_with(&target, IdOrigin::of(&target.key.conversation), &events, bounds.one_more())
        .await?;
    let (snapshot, first) = opened;
    let page = Page::effective_from(&snapshot, events, bounds, first).await;
    listing.items(&snapshot, page).await.map(Json)
}

fn no_such_start() -> HttpProblem {
    let detail = "after is no item of this conversation: give the last_id of a page";
    HttpProblem::of_field("ITEM_NOT_FOUND", "after", detail)
}

/// The first and the last version of a list.
pub(in crate::http::openai) type VersionRange = (Version, Version);

/// All events.
const ALL: VersionRange = (Version(1), EventQuery::OPEN_END);

/// Most events of a page whose items are searched because the page before it has none.
const EVENTS_SEARCHED: usize = 100;
/// Most pages that are searched for an item.
const PAGES_SEARCHED_MAX: usize = 100;

/// A page of items to read.
pub(in crate::http::openai) struct Listing {
    after: Option<ItemPlace>,
    limit: u32,
    order: ItemOrder,
    range: VersionRange,
}

impl Listing {
    /// The page that a query names, of the items of a range.
    ///
    /// # Errors
    /// 400: the limit is out of its range, or the page starts after no item of the conversation.
    pub(in crate::http::openai) async fn of(
        snapshot: &Snapshot<'_>,
        query: &ListItemsQuery,
        range: VersionRange,
    ) -> Result<Self, HttpProblem> {
        let first = Self::first(query, range)?;
        let Some(after) = &query.after else {
            return Ok(first);
        };
        let found = find(snapshot, after).await?;
        let after = Some(found.ok_or_else(no_such_start)?.place);
        Ok(Self { after, ..first })
    }

    /// The first page of a query.
    fn first(query: &ListItemsQuery, range: VersionRange) -> Result<Self, HttpProblem> {
        Ok(Self { after: None, limit: query.limit()?, order: query.order, range })
    }

    /// Reads the page.
    ///
    /// # Errors
    /// The conversation cannot be read.
    pub(in crate::http::openai) async fn read(&self, snapshot: &Snapshot<'_>) -> Result<ItemListObject, HttpProblem> {
        let page = Page::effective(snapshot, self.query(), self.bounds()).await;
        self.items(snapshot, page).await
    }

    /// The items of the events of the page. Clients stop at a page without items, so that the events after it are searched for
    /// one.
    async fn items(
        &self,
        snapshot: &Snapshot<'_>,
        first: Result<Page, Problem>,
    ) -> Result<ItemListObject, HttpProblem> {
        let mut page = first?;
        let mut items = self.items_of_page(snapshot, &page)?;
        for _ in 0..PAGES_SEARCHED_MAX {
            let Some(next) = page.next.filter(|_| items.is_empty()) else {
                break;
            };
            let bounds = Bounds { events_max: EVENTS_SEARCHED, bytes_max: ITEMS_BYTES_MAX };
            let next = Page::effective(snapshot, self.query_from(next.version), bounds).await;
            page = next?;
            items = self.items_of_page(snapshot, &page)?;
        }
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let has_more = items.len() > limit || page.next.is_some();
        items.truncate(limit);
        Ok(ItemListObject::new(items, has_more))
    }

    /// The items of the events of a page that follow the start of the list.
    fn items_of_page(&self, snapshot: &Snapshot<'_>, page: &Page) -> Result<Vec<StoredItem>, HttpProblem> {
        let mut items = Vec::new();
        for row in &page.events {
            let event = decode(snapshot.key(), row)?;
            let mut of_event = items_of(&snapshot.key().conversation, &event)?;
            if self.order == ItemOrder::Desc {
                of_event.reverse();
            }
            items.extend(of_event.into_iter().filter(|item| self.follows(item)));
        }
        Ok(items)
    }

    fn follows(&self, item: &StoredItem) -> bool {
        self.after.is_none_or(|after| match self.order {
            ItemOrder::Asc => item.place > after,
            ItemOrder::Desc => item.place < after,
        })
    }

    fn query(&self) -> history::Range<'static> {
        let (from, to) = self.range;
        match (self.after, self.order) {
            (Some(after), ItemOrder::Asc) => self.query_from(after.version.max(from)),
            (Some(after), ItemOrder::Desc) => self.query_from(after.version.min(to)),
            (None, ItemOrder::Asc) => self.query_from(from),
            (None, ItemOrder::Desc) => self.query_from(to),
        }
    }

    /// The events of the range from a version, in the order of the list.
    fn query_from(&self, first: Version) -> history::Range<'static> {
        let (from, to) = self.range;
        match self.order {
            ItemOrder::Asc => history::Range { from: first, to, ..item_range(Direction::Forward) },
            ItemOrder::Desc => history::Range { from, to: first, ..item_range(Direction::Backward) },
        }
    }

    /// The bounds of the events. The first may be that before the page, and the last shows that there are more.
    fn bounds(&self) -> Bounds {
        Bounds::of(self.limit.saturating_add(1), ITEMS_BYTES_MAX)
    }
}
