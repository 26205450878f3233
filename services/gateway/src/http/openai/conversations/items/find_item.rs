//! Finds an item by its id: at the version that the id contains, or by search if the client chose the id.

use domain::RecordedEvent;
use history::{Batch, Direction, Query, Snapshot, View, decode};
use runtime::http::HttpProblem;

use super::{item_query, items_of};
use crate::http::openai::items::item_id::ItemId;
use crate::http::openai::items::stored_item::StoredItem;
use crate::http::owned_chat::from_read_error;

/// Most events that are searched for a client's own id, the newest first.
pub(super) const EVENTS_SEARCHED_MAX: usize = 10_000;
/// The size of a read of the search.
const SEARCH: Batch = Batch {
    events_max: 1_000,
    bytes_max: 3 * 1024 * 1024,
};

/// The item of the effective history with this id; `None`: there is none.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn find(
    snapshot: &Snapshot<'_>,
    id: &str,
) -> Result<Option<StoredItem>, HttpProblem> {
    match ItemId::parse(id) {
        Some(place) => at(snapshot, place, id).await,
        None => searched(snapshot, id).await,
    }
}

async fn at(
    snapshot: &Snapshot<'_>,
    place: ItemId,
    id: &str,
) -> Result<Option<StoredItem>, HttpProblem> {
    let query = Query {
        from: place.version,
        to: place.version,
        ..item_query(Direction::Backward)
    };
    let Some(event) = newest_event(snapshot, query).await? else {
        return Ok(None);
    };
    let mut items = items_of(&event)?.into_iter();
    Ok(items.find(|item| item.place == place && item.id == id))
}

/// The newest item with this id.
async fn searched(snapshot: &Snapshot<'_>, id: &str) -> Result<Option<StoredItem>, HttpProblem> {
    let effective = snapshot.effective(snapshot.position().version).await;
    let effective = effective.map_err(from_read_error)?;
    let query = item_query(Direction::Backward);
    let mut cursor = snapshot.cursor(query, View::Effective(&effective));
    let mut searched = 0;
    while searched < EVENTS_SEARCHED_MAX {
        let Some(batch) = cursor.next(SEARCH).await.map_err(from_read_error)? else {
            break;
        };
        for event in batch.iter().take(EVENTS_SEARCHED_MAX - searched) {
            let event = decode(snapshot.key(), &event.row).map_err(from_read_error)?;
            let items = items_of(&event)?.into_iter();
            if let Some(item) = items.rev().find(|item| item.id == id) {
                return Ok(Some(item));
            }
        }
        searched += batch.len();
    }
    Ok(None)
}

/// The newest event of a query over the effective history.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn newest_event(
    snapshot: &Snapshot<'_>,
    query: Query<'_>,
) -> Result<Option<RecordedEvent>, HttpProblem> {
    let effective = snapshot.effective(snapshot.position().version).await;
    let effective = effective.map_err(from_read_error)?;
    let newest = snapshot.newest(query, View::Effective(&effective)).await;
    newest.map_err(from_read_error)
}
