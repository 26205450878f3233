//! Failures of writes: by the content of commits, or for other reasons.

use super::batch::ParkReason;
use crate::error::{ReadModelError, sqlstate_of};

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
