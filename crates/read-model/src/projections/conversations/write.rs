//! The statements that write groups, inside a transaction of the caller's.

use sqlx::postgres::PgConnection;

use super::batch::ParkReason;
use super::column::bind_columns;
use super::conversation_rows::{
    BEGIN_CONVERSATIONS, CONTINUE_CONVERSATIONS, ConversationRows, Gaps, ProjectedConversation,
};
use super::copy::copy_groups;
use super::elsewhere::erase_elsewhere;
use super::event_rows::{INSERT_EVENTS, ProjectedEvent, event_rows};
use super::group::Group;
use super::tombstones::erase;
use super::write_failure::{WriteFailure, run};
use crate::projections::provider_logs;
use crate::queries::bind;

/// How rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// Into tables as readers know them.
    Rows(Gaps),
    /// By COPY, into tables that get their indexes later.
    Copy,
}

/// Writes what the groups' commits come to.
///
/// # Errors
/// [`WriteFailure`]; the transaction must then go back to where it was.
pub(super) async fn write(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    means: Means,
) -> Result<(), WriteFailure> {
    if means != Means::Rows(Gaps::Accepted) && groups.iter().any(Group::has_gap) {
        // Commit by commit it shows where.
        return Err(WriteFailure::Content(ParkReason::OutOfPlace));
    }
    match means {
        Means::Rows(gaps) => write_rows(connection, groups, gaps).await,
        Means::Copy => copy_groups(connection, groups).await,
    }
}

/// A statement a table, and none for a table that is not touched.
async fn write_rows(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    gaps: Gaps,
) -> Result<(), WriteFailure> {
    let living = groups.iter().filter(|group| !group.is_erased());
    let commits = living.flat_map(|group| group.commits.iter().copied());
    let events: Vec<ProjectedEvent<'_>> = commits.flat_map(event_rows).collect();
    if !events.is_empty() {
        let arguments = bind_columns(&[&ProjectedEvent::COLUMNS], &events);
        run(connection, &INSERT_EVENTS, arguments).await?;
    }
    let ConversationRows {
        begun,
        continued,
        erased,
    } = ConversationRows::of(groups);
    if !begun.is_empty() {
        let arguments = bind_columns(ProjectedConversation::ROW, &begun);
        run(connection, &BEGIN_CONVERSATIONS, arguments).await?;
    }
    if !continued.is_empty() {
        let expected = u64::try_from(continued.len()).unwrap_or(u64::MAX);
        let arguments = bind_columns(ProjectedConversation::UPDATE, &continued);
        let arguments = bind(arguments, gaps == Gaps::Accepted);
        if run(connection, &CONTINUE_CONVERSATIONS, arguments).await? != expected {
            return Err(WriteFailure::Content(ParkReason::OutOfPlace));
        }
    }
    if !erased.is_empty() {
        erase(connection, &erased).await?;
        erase_elsewhere(connection, groups, &erased).await?;
        provider_logs::lock_out(
            connection,
            bind_columns(ProjectedConversation::KEYS, &erased),
        )
        .await
        .map_err(WriteFailure::of)?;
    }
    Ok(())
}
