//! The statements that write groups, inside a transaction of the caller's.

use sqlx::postgres::{PgArguments, PgConnection};

use super::batch::ParkReason;
use super::conversation_rows::{ConversationRows, Gaps};
use super::event_rows::EventRows;
use super::group::Group;
use crate::error::{ReadModelError, sqlstate_of};

/// Why groups could not be written.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// It is the fault of what is in them: with others it may work.
    Content(ParkReason),
    /// It is not.
    Other(ReadModelError),
}

/// Writes what the groups' commits come to: a statement a table, and none for a table that is not touched.
///
/// # Errors
/// [`WriteFailure`]; the transaction must then go back to where it was.
pub(super) async fn write(
    connection: &mut PgConnection,
    groups: &[Group<'_>],
    gaps: Gaps,
) -> Result<(), WriteFailure> {
    let mut events = EventRows::default();
    let mut conversations = ConversationRows::default();
    for group in groups {
        conversations.add(group);
        if !group.is_erased() {
            group.commits.iter().for_each(|commit| events.add(commit));
        }
    }
    let ConversationRows {
        begun,
        continued,
        erased,
    } = conversations;
    if !events.is_empty() {
        run(connection, include_str!("insert_events.sql"), events.bind()).await?;
    }
    if !begun.is_empty() {
        run(
            connection,
            include_str!("begin_conversations.sql"),
            begun.bind(),
        )
        .await?;
    }
    if continued.len() > 0 {
        let expected = u64::try_from(continued.len()).unwrap_or(u64::MAX);
        let sql = include_str!("continue_conversations.sql");
        if run(connection, sql, continued.bind(gaps)).await? != expected {
            return Err(WriteFailure::Content(ParkReason::OutOfPlace));
        }
    }
    if !erased.is_empty() {
        run(
            connection,
            include_str!("erase_events.sql"),
            erased.bind_keys(),
        )
        .await?;
        run(
            connection,
            include_str!("erase_parked.sql"),
            erased.bind_keys(),
        )
        .await?;
        run(
            connection,
            include_str!("erase_conversations.sql"),
            erased.bind(),
        )
        .await?;
    }
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
    fn of(error: sqlx::Error) -> Self {
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
