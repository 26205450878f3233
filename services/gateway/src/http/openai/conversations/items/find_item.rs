//! Finds an item by its id: at the version that the id contains, or by search if the client chose the id.

use domain::{RecordedEvent, Version};
use history::{Batch, Direction, Query, Snapshot, Target, View, decode};
use runtime::http::HttpProblem;
use wire::status::Problem;

use super::{ITEM_KINDS, items_of};
use crate::http::openai::items::item_id::ItemId;
use crate::http::openai::items::stored_item::StoredItem;
use crate::http::owned_chat::from_read_error;
use crate::http::state::HttpState;

/// Most events that are searched for a client's own id, the newest first.
pub(super) const EVENTS_SEARCHED_MAX: usize = 10_000;
/// Most events between the version that an id contains and its event.
const EVENTS_BEFORE_MAX: usize = 64;
/// The size of a read of the search.
const SEARCH: Batch = Batch {
    events_max: 1_000,
    bytes_max: 3 * 1024 * 1024,
};

/// The item of the effective history with this id; `None`: there is none.
///
/// # Errors
/// The conversation cannot be read.
pub(in crate::http::openai) async fn find(
    state: &HttpState,
    target: &Target,
    id: &str,
) -> Result<Option<StoredItem>, HttpProblem> {
    let snapshot = Snapshot::open(&state.gateway.reader, target).await;
    let snapshot = snapshot.map_err(from_read_error)?;
    if let Some(named) = ItemId::parse(id) {
        return named_item(&snapshot, named.version, id).await;
    }
    searched(&snapshot, id).await
}

/// The item at a version, or shortly after it: other commits may precede an item whose id was made before it was recorded.
async fn named_item(
    snapshot: &Snapshot<'_>,
    version: Version,
    id: &str,
) -> Result<Option<StoredItem>, HttpProblem> {
    for events_before in [0, EVENTS_BEFORE_MAX] {
        let query = Query {
            from: version,
            to: version.plus(events_before),
            kinds: &ITEM_KINDS,
            ..Query::all(Direction::Forward)
        };
        let events = first_batch(snapshot, query, SEARCH).await;
        for event in events.map_err(from_read_error)? {
            let items = items_of(&snapshot.key().conversation, &event)?.into_iter();
            let mut same = items.filter(|item| ItemId::is_same(&item.id, id));
            if let Some(item) = same.next() {
                return Ok(Some(item));
            }
        }
    }
    Ok(None)
}

/// The newest item with this id.
async fn searched(snapshot: &Snapshot<'_>, id: &str) -> Result<Option<StoredItem>, HttpProblem> {
    let effective = snapshot.effective(snapshot.position().version).await;
    let effective = effective.map_err(from_read_error)?;
    let query = Query {
        kinds: &ITEM_KINDS,
        ..Query::all(Direction::Backward)
    };
    let mut cursor = snapshot.cursor(query, View::Effective(&effective));
    let mut searched = 0;
    while searched < EVENTS_SEARCHED_MAX {
        let Some(batch) = cursor.next(SEARCH).await.map_err(from_read_error)? else {
            break;
        };
        for event in batch.iter().take(EVENTS_SEARCHED_MAX - searched) {
            let event = decode(snapshot.key(), &event.row).map_err(from_read_error)?;
            let items = items_of(&snapshot.key().conversation, &event)?.into_iter();
            if let Some(item) = items.rev().find(|item| item.id == id) {
                return Ok(Some(item));
            }
        }
        searched += batch.len();
    }
    Ok(None)
}

/// The events of the first batch of a query over the effective history.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn first_batch(
    snapshot: &Snapshot<'_>,
    query: Query<'_>,
    batch: Batch,
) -> Result<Vec<RecordedEvent>, Problem> {
    let effective = snapshot.effective(snapshot.position().version).await?;
    let mut cursor = snapshot.cursor(query, View::Effective(&effective));
    let events = cursor.next(batch).await?.into_iter().flatten();
    let events = events.map(|event| decode(snapshot.key(), &event.row));
    events.collect()
}
