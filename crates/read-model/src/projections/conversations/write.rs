//! Writes groups, in a transaction of the caller.

use sqlx::postgres::PgConnection;

use super::batch::ParkReason;
use super::column::bind_columns;
use super::conversation_rows::{
    ConversationRows, Gaps, INSERT_CONVERSATIONS, ProjectedConversation, UPDATE_CONVERSATIONS,
};
use super::copy::copy_groups;
use super::document_rows::write_documents;
use super::event_rows::{INSERT_EVENTS, ProjectedEvent, event_rows};
use super::group::Group;
use super::tombstones::{erase, erase_documents, erase_in_retained};
use super::write_failure::WriteFailure;
use crate::arguments::{bind, execute};
use crate::projections::provider_logs;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// Into tables with indexes.
    Rows(Gaps),
    /// By `COPY`, into tables that get their indexes later.
    Copy,
}

/// Writes the commits of the groups.
///
/// # Errors
/// [`WriteFailure`]: the caller must roll back.
pub(super) async fn write(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    mode: WriteMode,
) -> Result<(), WriteFailure> {
    if mode != WriteMode::Rows(Gaps::Accepted) && groups.iter().any(Group::has_gap) {
        // The retry commit by commit finds the gap.
        return Err(WriteFailure::Content(ParkReason::OutOfPlace));
    }
    match mode {
        WriteMode::Rows(gaps) => write_rows(connection, groups, gaps).await?,
        WriteMode::Copy => copy_groups(connection, groups).await?,
    }
    write_documents(connection, groups).await
}

/// Executes one statement per table, none for unchanged tables.
async fn write_rows(connection: &mut PgConnection, groups: &[Group<'_>], gaps: Gaps) -> Result<(), WriteFailure> {
    let living = groups.iter().filter(|group| !group.is_erased());
    let commits = living.flat_map(|group| group.commits.iter().copied());
    let events: Vec<ProjectedEvent<'_>> = commits.flat_map(event_rows).collect();
    if !events.is_empty() {
        let arguments = bind_columns(&[&ProjectedEvent::COLUMNS], &events);
        execute(connection, INSERT_EVENTS.as_str(), arguments).await?;
    }
    let ConversationRows { inserted, updated, erased } = ConversationRows::from_groups(groups);
    if !inserted.is_empty() {
        let arguments = bind_columns(ProjectedConversation::ROW, &inserted);
        execute(connection, INSERT_CONVERSATIONS.as_str(), arguments).await?;
    }
    if !updated.is_empty() {
        let expected = u64::try_from(updated.len()).unwrap_or(u64::MAX);
        let arguments = bind(bind_columns(ProjectedConversation::UPDATE, &updated), gaps == Gaps::Accepted);
        if execute(connection, UPDATE_CONVERSATIONS.as_str(), arguments).await? != expected {
            return Err(WriteFailure::Content(ParkReason::OutOfPlace));
        }
    }
    if !erased.is_empty() {
        erase(connection, &erased).await?;
        erase_in_retained(connection, groups, &erased).await?;
        let keys = bind_columns(ProjectedConversation::KEYS, &erased);
        provider_logs::erase(connection, keys).await?;
        erase_documents(connection, &erased).await?;
    }
    Ok(())
}
