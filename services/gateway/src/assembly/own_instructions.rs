//! The instructions that a conversation begins with, for contexts that do not contain its beginning.

use context::stages::own_instructions::{
    OWN_INSTRUCTIONS_EVENTS_MAX, OwnInstructions, own_instructions,
};
use domain::{EventKind, Segments, Version};
use history::{Direction, Page, PageBounds, Query, Snapshot, View, decode};
use wire::status::Problem;

use crate::assembly::bounds::CONTEXT_BYTES_MAX;

/// The events that are searched for them.
const FIRST: PageBounds = PageBounds {
    events_max: OWN_INSTRUCTIONS_EVENTS_MAX,
    bytes_max: CONTEXT_BYTES_MAX,
};

/// Reads them up to a version, and no further than the first event that a rewind hides.
pub(super) async fn read(
    snapshot: &Snapshot<'_>,
    effective: &Segments,
    at: Version,
) -> Result<Option<OwnInstructions>, Problem> {
    let query = Query {
        to: at.min(Version(u64::from(OWN_INSTRUCTIONS_EVENTS_MAX))),
        kinds: &[EventKind::MessageAppended],
        ..Query::all(Direction::Forward)
    };
    let mut cursor = snapshot.cursor(query, View::Recorded);
    let page = Page::read(&mut cursor, FIRST).await?;
    let shown = page.events.iter();
    let shown = shown.take_while(|row| effective.contains(row.version));
    let first = shown.map(|row| decode(snapshot.key(), row));
    Ok(own_instructions(first.collect::<Result<Vec<_>, _>>()?))
}
