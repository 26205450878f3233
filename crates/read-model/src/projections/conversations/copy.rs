//! Fills a schema whose large tables have no indexes yet.
//!
//! Events are written as rows. Changes of conversations are written to `conversation_change`; their rows are computed from
//! it at the end. A tombstone is such a change too, and removes the rest of the conversation at the end.

mod buffer;

use sqlx::postgres::PgConnection;

use super::column::bind_columns;
use super::conversation_rows::{ConversationRows, ProjectedConversation};
use super::event_rows::{ProjectedEvent, event_rows};
use super::group::Group;
use super::write_failure::WriteFailure;
use crate::arguments::execute;
use buffer::CopyRows;

/// Writes the commits of the groups.
pub(super) async fn copy_groups(connection: &mut PgConnection, groups: &[Group<'_>]) -> Result<(), WriteFailure> {
    let columns = [ProjectedEvent::COLUMNS.as_slice()];
    let mut events = CopyRows::begin(&mut *connection, "event", &columns).await?;
    for group in groups.iter().filter(|group| !group.is_erased()) {
        for event in group.commits.iter().copied().flat_map(event_rows) {
            events.put(&event).await?;
        }
    }
    events.finish().await?;
    let columns = ProjectedConversation::CHANGES;
    let mut changes = CopyRows::begin(&mut *connection, "conversation_change", columns).await?;
    let rows = ConversationRows::from_groups(groups);
    for change in rows.inserted.iter().chain(&rows.updated).chain(&rows.erased) {
        changes.put(change).await?;
    }
    changes.finish().await?;
    if !rows.erased.is_empty() {
        let keys = bind_columns(ProjectedConversation::KEYS, &rows.erased);
        execute(connection, include_str!("erase_parked.sql"), keys).await?;
    }
    Ok(())
}
