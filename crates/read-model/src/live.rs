//! The live schema of the projection. It is a pointer in the database; each process caches it for a short time, so that all
//! processes switch to a rebuilt schema soon.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Row as _};
use tokio::time::Instant;

use crate::error::{ReadModelError, sqlstate_of};

/// TTL of the cached live schema: no process uses the previous schema for longer.
pub const LIVE_SCHEMA_TTL: Duration = Duration::from_millis(500);

const READ_LIVE_SCHEMA: &str = "SELECT live_schema FROM hansard.projection WHERE name = 'conversations'";
/// SQLSTATEs of a database without the pointer: no table, no schema, or no privilege yet.
const NOT_MIGRATED: [&str; 3] = ["42P01", "3F000", "42501"];
const PREFIX: &str = "conversations_v";

/// A schema of the projection `conversations`: a number from 1, formatted as `conversations_v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaName(u32);

impl SchemaName {
    /// The schema that migrations create.
    pub const FIRST: Self = Self(1);

    /// Parses a name; `None`: it is not a schema of the projection.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let number = name.strip_prefix(PREFIX)?;
        let schema = Self(number.parse().ok().filter(|number| *number > 0)?);
        (schema.to_string() == name).then_some(schema)
    }

    /// The schema that follows.
    pub(crate) fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for SchemaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}

/// The projection whose tables a handle finds first. The tables of search have a schema of their own; its handles also find those
/// of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectionTables {
    /// The tables of the projection `conversations`.
    Conversations,
    /// The tables of the projection `search`.
    Search,
}

impl ProjectionTables {
    /// The `search_path` of connections.
    pub(crate) fn path(self, schema: SchemaName) -> String {
        match self {
            Self::Conversations => schema.to_string(),
            Self::Search => format!("search_v1,{schema}"),
        }
    }
}

/// The schema that a handle uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// The live schema.
    Live,
    /// This schema, live or not.
    Fixed(SchemaName),
}

/// The cached pointer.
#[derive(Debug, Default)]
pub(crate) struct LiveSchemaCache {
    cached: Mutex<Option<Cached>>,
    refresh: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy)]
struct Cached {
    schema: SchemaName,
    /// `None`: expired.
    read_at: Option<Instant>,
}

impl LiveSchemaCache {
    /// The live schema; `None`: the cache has expired.
    pub(crate) fn get(&self) -> Option<SchemaName> {
        let cached = (*self.cached())?;
        let has_expired = cached.read_at?.elapsed() >= LIVE_SCHEMA_TTL;
        (!has_expired).then_some(cached.schema)
    }

    /// The last known live schema, also after it expired; at first [`SchemaName::FIRST`].
    pub(crate) fn last(&self) -> SchemaName {
        let cached = *self.cached();
        cached.map_or(SchemaName::FIRST, |cached| cached.schema)
    }

    /// Waits for the right to refresh the cache, so that one caller reads the pointer for all.
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.refresh.lock().await
    }

    /// Stores the live schema; returns whether it changed.
    pub(crate) fn set(&self, schema: SchemaName) -> bool {
        let now = Cached { schema, read_at: Some(Instant::now()) };
        let before = self.cached().replace(now);
        before.is_none_or(|before| before.schema != schema)
    }

    /// Expires the cache.
    pub(crate) fn expire(&self) {
        if let Some(cached) = self.cached().as_mut() {
            cached.read_at = None;
        }
    }

    fn cached(&self) -> MutexGuard<'_, Option<Cached>> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the live schema from the database: [`SchemaName::FIRST`] before migrations.
pub(crate) async fn read_live_schema(connection: &mut PgConnection) -> Result<SchemaName, ReadModelError> {
    match connection.fetch_optional(READ_LIVE_SCHEMA).await {
        Ok(Some(row)) => parse_schema_name(row.try_get(0)?),
        Ok(None) => Ok(SchemaName::FIRST),
        Err(error) => match sqlstate_of(&error).as_deref() {
            Some(code) if NOT_MIGRATED.contains(&code) => Ok(SchemaName::FIRST),
            _ => Err(error.into()),
        },
    }
}

/// Parses a column that contains the name of a schema.
pub(crate) fn parse_schema_name(name: &str) -> Result<SchemaName, ReadModelError> {
    SchemaName::parse(name).ok_or_else(|| ReadModelError::corrupt("projection", "conversations", "the schema's name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
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
    fn the_cache_expires() {
        let live = LiveSchemaCache::default();
        assert_eq!(live.get(), None);
        assert!(live.set(SchemaName::FIRST));
        assert!(!live.set(SchemaName::FIRST));
        assert_eq!(live.get(), Some(SchemaName::FIRST));
        assert!(live.set(SchemaName(2)));
        live.expire();
        assert_eq!((live.get(), live.last()), (None, SchemaName(2)));
        let long_ago = Instant::now().checked_sub(LIVE_SCHEMA_TTL);
        live.cached().as_mut().unwrap().read_at = long_ago;
        assert_eq!(live.get(), None);
    }
}
