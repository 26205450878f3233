//! Finds an item by its id: at the version that the id contains, or by search if the client chose the id.

use domain::{RecordedEvent, Version};
use history::{Bounds, Direction, Range, Snapshot, View, decode};
use openai_api::items::item_id::ItemId;
use openai_api::items::stored_item::StoredItem;
use runtime::http::HttpProblem;

use super::{item_range, items_of};

/// Most events that are searched for a client's own id, the newest first.
pub(super) const EVENTS_SEARCHED_MAX: usize = 10_000;
/// Most events between the version that an id contains and its event.
const EVENTS_BEFORE_MAX: usize = 64;
/// The events in which the newest item is searched: only a message of a model that called tools has none.
const NEWEST: Bounds = Bounds { events_max: 8, bytes_max: 8 * 1024 * 1024 };
/// The size of a read of the search.
const SEARCH: Bounds = Bounds { events_max: 1_000, bytes_max: 3 * 1024 * 1024 };

/// The item of the effective history with this id; `None`: there is none.
///
/// # Errors
/// The conversation cannot be read.
pub(in crate::http::openai) async fn find(
    snapshot: &Snapshot<'_>,
    id: &str,
) -> Result<Option<StoredItem>, HttpProblem> {
    match ItemId::parse(id) {
        Some(named) => named_item(snapshot, named.version, id).await,
        None => searched(snapshot, id).await,
    }
}

/// The item at a version, or shortly after it: other commits may precede an item whose id was made before it was recorded.
async fn named_item(snapshot: &Snapshot<'_>, version: Version, id: &str) -> Result<Option<StoredItem>, HttpProblem> {
    let effective = snapshot.effective(snapshot.position().version).await?;
    for events_before in [0, EVENTS_BEFORE_MAX] {
        let range = Range { from: version, to: version.plus(events_before), ..item_range(Direction::Forward) };
        let mut cursor = snapshot.cursor(range, View::Effective(&effective));
        let batch = cursor.next(SEARCH).await?;
        for event in batch.into_iter().flatten() {
            let event = decode(snapshot.key(), &event.row)?;
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
    let effective = snapshot.effective(snapshot.position().version).await?;
    let range = item_range(Direction::Backward);
    let mut cursor = snapshot.cursor(range, View::Effective(&effective));
    let mut searched = 0;
    while searched < EVENTS_SEARCHED_MAX {
        let Some(batch) = cursor.next(SEARCH).await? else {
            break;
        };
        for event in batch.iter().take(EVENTS_SEARCHED_MAX - searched) {
            let event = decode(snapshot.key(), &event.row)?;
            let items = items_of(&snapshot.key().conversation, &event)?.into_iter();
            if let Some(item) = items.rev().find(|item| item.id == id) {
                return Ok(Some(item));
            }
        }
        searched += batch.len();
    }
    Ok(None)
}

/// The newest event with items: one before it may only carry the usage of its calls.
///
/// # Errors
/// The conversation cannot be read.
pub(super) async fn newest_event(snapshot: &Snapshot<'_>) -> Result<Option<RecordedEvent>, HttpProblem> {
    let effective = snapshot.effective(snapshot.position().version).await?;
    let range = item_range(Direction::Backward);
    let mut cursor = snapshot.cursor(range, View::Effective(&effective));
    let batch = cursor.next(NEWEST).await?;
    for event in batch.into_iter().flatten() {
        let event = decode(snapshot.key(), &event.row)?;
        if !items_of(&snapshot.key().conversation, &event)?.is_empty() {
            return Ok(Some(event));
        }
    }
    Ok(None)
}
