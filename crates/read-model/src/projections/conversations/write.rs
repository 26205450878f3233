//! The statements that write groups, inside a transaction of the caller's.

use sqlx::postgres::{PgArguments, PgConnection};

use super::batch::ParkReason;
use super::column::bind_columns;
use super::conversation_rows::{
    BEGIN_CONVERSATIONS, CONTINUE_CONVERSATIONS, ConversationRows, ERASE_CONVERSATIONS, Gaps,
    ProjectedConversation,
};
use super::copy::copy_groups;
use super::elsewhere::erase_elsewhere;
use super::event_rows::{INSERT_EVENTS, ProjectedEvent, event_rows};
use super::group::Group;
use crate::error::{ReadModelError, sqlstate_of};
use crate::projections::provider_logs;
use crate::queries::bind;

/// Why groups could not be written.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// It is the fault of what is in them: with others it may work.
    Content(ParkReason),
    /// It is not.
    Other(ReadModelError),
}

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

/// Leaves tombstones, and nothing else, in the connection's schema.
pub(super) async fn erase(
    connection: &mut PgConnection,
    erased: &[ProjectedConversation],
) -> Result<(), WriteFailure> {
    let keys = || bind_columns(ProjectedConversation::KEYS, erased);
    run(connection, include_str!("erase_events.sql"), keys()).await?;
    run(connection, include_str!("erase_parked.sql"), keys()).await?;
    let tombstones = bind_columns(ProjectedConversation::TOMBSTONE, erased);
    run(connection, &ERASE_CONVERSATIONS, tombstones).await?;
    Ok(())
}

/// Runs one statement; how many rows it touched.
pub(super) async fn run(
    connection: &mut PgConnection,
    sql: &'static str,
    arguments: PgArguments,
) -> Result<u64, WriteFailure> {
    let done = sqlx::query_with(sql, arguments).execute(connection).await;
    done.map(|done| done.rows_affected())
        .map_err(WriteFailure::of)
}

impl WriteFailure {
    /// SQLSTATE classes 22 (data), 23 (constraints) and 54 (limits) are about what is written.
    pub(super) fn of(error: sqlx::Error) -> Self {
        let sqlstate = sqlstate_of(&error).unwrap_or_default();
        if ["22", "23", "54"]
            .iter()
            .any(|class| sqlstate.starts_with(class))
        {
            return Self::Content(ParkReason::Refused(sqlstate));
        }
        Self::Other(error.into())
    }
}

impl From<ReadModelError> for WriteFailure {
    fn from(error: ReadModelError) -> Self {
        Self::Other(error)
    }
}
