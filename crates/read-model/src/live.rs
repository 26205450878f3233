//! Which schema of the projection is live, as far as this process knows: a pointer in the database that is looked at again
//! and again, so that a rebuilt schema is used by every process soon after it has become the live one.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use tokio::time::Instant;

use crate::error::{ReadModelError, sqlstate_of};

/// How long it is from one look at the pointer to the next: a process uses a schema that was left for no longer.
pub const LOOK_INTERVAL: Duration = Duration::from_millis(500);

const LOOK: &str = "SELECT live_schema FROM hansard.projection WHERE name = 'conversations'";
/// What a database without the pointer answers: there is no such table, or schema, or it is not for readers yet.
const NOT_MIGRATED: [&str; 3] = ["42P01", "3F000", "42501"];
const PREFIX: &str = "conversations_v";

/// A schema of the projection `conversations`, by its number, from 1; written `conversations_v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaName(u32);

impl SchemaName {
    /// The one that migrations make.
    pub const FIRST: Self = Self(1);

    /// The schema of this name; `None`: it is not one of the projection's.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let number = name.strip_prefix(PREFIX)?;
        let schema = Self(number.parse().ok().filter(|number| *number > 0)?);
        (schema.to_string() == name).then_some(schema)
    }

    /// The one that is made after it.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

/// The schema that a handle works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// Whichever is live.
    Live,
    /// This one, live or not.
    Fixed(SchemaName),
}

/// What is known of the pointer.
#[derive(Debug, Default)]
pub(crate) struct Live {
    known: Mutex<Option<Known>>,
    looking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    schema: SchemaName,
    /// `None`: it may have changed since.
    looked_at: Option<Instant>,
}

impl Live {
    /// The live schema, unless it is time to look again.
    pub(crate) fn lately(&self) -> Option<SchemaName> {
        let known = (*self.known())?;
        let is_late = known.looked_at?.elapsed() >= LOOK_INTERVAL;
        (!is_late).then_some(known.schema)
    }

    /// The schema that was live when it was last looked, or else the first.
    pub(crate) fn guess(&self) -> SchemaName {
        let known = *self.known();
        known.map_or(SchemaName::FIRST, |known| known.schema)
    }

    /// Waits for the turn to look: one looks for all.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.looking.lock().await
    }

    /// Remembers what was seen; whether it is another schema than before.
    pub(crate) fn learn(&self, schema: SchemaName) -> bool {
        let now = Known {
            schema,
            looked_at: Some(Instant::now()),
        };
        let before = self.known().replace(now);
        before.is_none_or(|before| before.schema != schema)
    }

    /// Has the next one look again.
    pub(crate) fn forget(&self) {
        if let Some(known) = self.known().as_mut() {
            known.looked_at = None;
        }
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the database which schema is live: the first, as long as nothing is migrated.
pub(crate) async fn look(connection: &mut PgConnection) -> Result<SchemaName, ReadModelError> {
    match connection.fetch_optional(LOOK).await {
        Ok(Some(row)) => name_of(row.try_get(0)?),
        Ok(None) => Ok(SchemaName::FIRST),
        Err(error) => match sqlstate_of(&error).as_deref() {
            Some(code) if NOT_MIGRATED.contains(&code) => Ok(SchemaName::FIRST),
            _ => Err(error.into()),
        },
    }
}

/// The schema in a column that holds a name.
pub(crate) fn name_of(name: &str) -> Result<SchemaName, ReadModelError> {
    SchemaName::parse(name).ok_or_else(|| ReadModelError::Corrupt {
        table: "projection",
        row: "conversations".to_owned(),
        field: "the schema's name".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        let check = |name: &str, expected: Option<SchemaName>| {
            assert_eq!(SchemaName::parse(name), expected, "{name}");
        };
        check("conversations_v1", Some(SchemaName::FIRST));
        check("conversations_v2", Some(SchemaName::FIRST.next()));
        check("conversations_v4294967295", Some(SchemaName(u32::MAX)));
        for none in [
            "conversations_v0",
            "conversations_v01",
            "conversations_v+1",
            "conversations_v4294967296",
            "conversations_v",
            "search_v1",
            "conversations_v1; DROP TABLE x",
        ] {
            check(none, None);
        }
        assert_eq!(SchemaName(12).to_string(), "conversations_v12");
    }

    #[test]
    fn what_is_known_is_known_for_a_while() {
        let live = Live::default();
        assert_eq!(live.lately(), None);
        assert!(live.learn(SchemaName::FIRST));
        assert!(!live.learn(SchemaName::FIRST));
        assert_eq!(live.lately(), Some(SchemaName::FIRST));
        assert!(live.learn(SchemaName(2)));
        live.forget();
        assert_eq!((live.lately(), live.guess()), (None, SchemaName(2)));
        let long_ago = Instant::now().checked_sub(LOOK_INTERVAL);
        live.known.lock().unwrap().as_mut().unwrap().looked_at = long_ago;
        assert_eq!(live.lately(), None);
    }
}
