//! Failures of writes: by the content of commits, or for other reasons.

use super::batch::ParkReason;
use crate::error::{ReadModelError, sqlstate_of};

const UNIQUE_VIOLATION: &str = "23505";
/// Part of the names of the unique indexes of commit ids: `event_by_commit`, and those that Postgres names for the parts of a
/// partitioned table. No other constraint of the rows has it.
const COMMIT_INDEX: &str = "commit";

/// Why groups could not be written.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// The content of the groups is the cause; other groups may succeed.
    Content(ParkReason),
    Other(ReadModelError),
}

impl From<sqlx::Error> for WriteFailure {
    /// SQLSTATE classes 22 (data), 23 (constraints) and 54 (limits) concern the content.
    fn from(error: sqlx::Error) -> Self {
        let sqlstate = sqlstate_of(&error).unwrap_or_default();
        let index = error.as_database_error().and_then(|error| error.constraint());
        if sqlstate == UNIQUE_VIOLATION && index.is_some_and(|index| index.contains(COMMIT_INDEX)) {
            return Self::Content(ParkReason::RepeatedCommit);
        }
        let classes = ["22", "23", "54"];
        if classes.iter().any(|class| sqlstate.starts_with(class)) {
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
