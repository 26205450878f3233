//! The schema: migrations, which are append-only, and whether this program may use what it finds.
//!
//! From migration 8 on, a database may have several schemas of a projection: the live one, one that is being built, those
//! that are kept (see [`crate::schemas`]). A migration that changes the tables of a projection must change all of them, so
//! it goes round the table of schemas:
//!
//! ```sql
//! DO $$
//! DECLARE name text;
//! BEGIN
//!     FOR name IN SELECT schema.name FROM hansard.schema AS schema ORDER BY schema.name LOOP
//!         EXECUTE format('ALTER TABLE %I.conversation ADD COLUMN weight bigint', name);
//!     END LOOP;
//! END
//! $$;
//! ```
//!
//! An index of `conversation` or `event` is made only where `phase IN ('following', 'whole')`: a schema that is being
//! filled gets its indexes from the live one, at the end. A new column of `conversation` that changes also needs a place in
//! `conversation_change`, which a schema has while it is filled; one whose meaning cannot be told from what is in the rows
//! is best made by a rebuild. A column that holds what people said, or who they are, has `SET STATISTICS 0`: what the planner
//! keeps of values outlives their erasure.

use sqlx::migrate::{Migrate as _, MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Executor as _, Row as _, SqlSafeStr as _};

use crate::error::ReadModelError;
use crate::reader_role;

/// Every migration: version, description, text.
const MIGRATIONS: [(i64, &str, &str); 14] = [
    (
        1,
        "conversations",
        include_str!("../migrations/0001_conversations.sql"),
    ),
    (
        2,
        "row level security",
        include_str!("../migrations/0002_row_level_security.sql"),
    ),
    (3, "usage", include_str!("../migrations/0003_usage.sql")),
    (4, "runs", include_str!("../migrations/0004_runs.sql")),
    (5, "forks", include_str!("../migrations/0005_forks.sql")),
    (6, "digest", include_str!("../migrations/0006_digest.sql")),
    (7, "schemas", include_str!("../migrations/0007_schemas.sql")),
    (
        8,
        "provider logs",
        include_str!("../migrations/0008_provider_logs.sql"),
    ),
    (
        9,
        "statistics",
        include_str!("../migrations/0009_statistics.sql"),
    ),
    (
        10,
        "channels",
        include_str!("../migrations/0010_channels.sql"),
    ),
    (
        11,
        "active runs",
        include_str!("../migrations/0011_active_runs.sql"),
    ),
    (
        12,
        "model usage",
        include_str!("../migrations/0012_model_usage.sql"),
    ),
    (
        13,
        "readers see checkpoints",
        include_str!("../migrations/0013_readers_see_checkpoints.sql"),
    ),
    (
        14,
        "storage",
        include_str!("../migrations/0014_storage.sql"),
    ),
];

/// The version of the database's last migration.
pub(crate) const LAST_MIGRATION: &str = "SELECT coalesce(max(version), 0) FROM hansard.migration";

/// Brings the schema, and the role of its readers, up to date. The advisory lock and the bookkeeping are sqlx's.
pub(crate) async fn migrate(connection: &mut PgConnection) -> Result<(), ReadModelError> {
    // An index may take longer to build than any read may run.
    connection.execute("SET statement_timeout = 0").await?;
    reader_role::ensure(connection).await?;
    let migrator = migrator();
    let outcome = migrator.run_direct(None, connection, false).await;
    match outcome {
        Err(MigrateError::VersionMissing(_)) => {
            let applied = connection
                .list_applied_migrations(&migrator.table_name)
                .await;
            let found = applied
                .map_err(error_of)?
                .iter()
                .map(|one| one.version)
                .max();
            Err(unknown(found.unwrap_or_default()))
        }
        outcome => outcome.map_err(error_of),
    }
}

/// Whether the last migration, as [`LAST_MIGRATION`] answers it, is the one that this program knows.
pub(crate) fn check(rows: &[PgRow]) -> Result<(), ReadModelError> {
    let found: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    if found > known() {
        return Err(unknown(found));
    }
    if found < known() {
        return Err(ReadModelError::unavailable(format!(
            "the schema has migration {found}, {} is needed: run hansard migrate, or start a projector that migrates",
            known()
        )));
    }
    Ok(())
}

fn migrator() -> Migrator {
    let migrations = MIGRATIONS.map(|(version, description, sql)| {
        let sql = sql.into_sql_str();
        Migration::new(
            version,
            description.into(),
            MigrationType::Simple,
            sql,
            false,
        )
    });
    let mut migrator = Migrator::with_migrations(migrations.into());
    migrator.create_schema("hansard");
    migrator.dangerous_set_table_name("hansard.migration");
    migrator
}

/// The last migration that this program knows.
pub(crate) fn known() -> i64 {
    MIGRATIONS
        .map(|(version, ..)| version)
        .into_iter()
        .max()
        .unwrap_or(0)
}

fn unknown(found: i64) -> ReadModelError {
    ReadModelError::SchemaUnknown {
        found,
        known: known(),
    }
}

fn error_of(error: MigrateError) -> ReadModelError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        MigrateError::VersionMismatch(version) => ReadModelError::SchemaAltered { version },
        MigrateError::VersionMissing(version) => unknown(version),
        _ => ReadModelError::unavailable("the schema cannot be brought up to date"),
    }
}
