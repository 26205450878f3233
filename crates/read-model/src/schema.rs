//! The migrations, which are append-only, and the check whether this program supports the schema of the database
//! (see [`crate::migrations`]).
//!
//! From migration 8 on, a database may have several schemas of a projection: the live one, one being built, and retained
//! ones (see [`crate::schemas`]). A migration that changes the tables of a projection must change all of them in a loop:
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
//! Create an index of `conversation` or `event` only where `phase IN ('following', 'whole')`: a schema that is being filled
//! copies its indexes from the live one at the end. A new mutable column of `conversation` is also needed in
//! `conversation_change`, which a schema has while it is filled. A column that cannot be computed from the existing rows
//! needs a rebuild. A column with personal content needs `SET STATISTICS 0`: statistics of the planner outlive an erasure.
//!
//! In an old schema `event` may have table partitions, `event_p00` and so on, until the next rebuild. Changes of its columns and
//! indexes reach them; a storage setting must be set in each.
//!
//! A migration declares whether programs that do not know it can continue, during a rolling upgrade and after a rollback:
//! its first line is `-- Additive: ` with the reason, or its last statement makes it the floor (see migration 21).

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor as _, SqlSafeStr as _};

use crate::error::ReadModelError;
use crate::migrations::{Compatibility, Migrations, READ_MIGRATIONS};
use crate::reader_role;
use crate::server_version::ServerVersion;

/// The migrations: version, description, SQL.
#[rustfmt::skip]
const MIGRATIONS: [(i64, &str, &str); 28] = [
    (1, "conversations", include_str!("../migrations/0001_conversations.sql")),
    (2, "row level security", include_str!("../migrations/0002_row_level_security.sql")),
    (3, "usage", include_str!("../migrations/0003_usage.sql")),
    (4, "runs", include_str!("../migrations/0004_runs.sql")),
    (5, "forks", include_str!("../migrations/0005_forks.sql")),
    (6, "digest", include_str!("../migrations/0006_digest.sql")),
    (7, "schemas", include_str!("../migrations/0007_schemas.sql")),
    (8, "provider logs", include_str!("../migrations/0008_provider_logs.sql")),
    (9, "statistics", include_str!("../migrations/0009_statistics.sql")),
    (10, "channels", include_str!("../migrations/0010_channels.sql")),
    (11, "active runs", include_str!("../migrations/0011_active_runs.sql")),
    (12, "model usage", include_str!("../migrations/0012_model_usage.sql")),
    (13, "readers see checkpoints", include_str!("../migrations/0013_readers_see_checkpoints.sql")),
    (14, "storage", include_str!("../migrations/0014_storage.sql")),
    (15, "search", include_str!("../migrations/0015_search.sql")),
    (16, "run outcomes", include_str!("../migrations/0016_run_outcomes.sql")),
    (17, "operators", include_str!("../migrations/0017_operators.sql")),
    (18, "search blocks", include_str!("../migrations/0018_search_blocks.sql")),
    (19, "documents", include_str!("../migrations/0019_documents.sql")),
    (20, "freezing", include_str!("../migrations/0020_freezing.sql")),
    (21, "floor", include_str!("../migrations/0021_floor.sql")),
    (22, "shards", include_str!("../migrations/0022_shards.sql")),
    (23, "blocks indexed again", include_str!("../migrations/0023_blocks_indexed_again.sql")),
    (24, "named conversations", include_str!("../migrations/0024_named_conversations.sql")),
    (25, "empty conversations", include_str!("../migrations/0025_empty_conversations.sql")),
    (26, "operator functions", include_str!("../migrations/0026_operator_functions.sql")),
    (27, "usage corrections", include_str!("../migrations/0027_usage_corrections.sql")),
    (28, "prefixes", include_str!("../migrations/0028_prefixes.sql")),
];

/// The migration that clears statistics of the planner.
const STATISTICS: i64 = 9;
/// Its statement that servers before 18 lack. They have no statistics to clear: no earlier program ran on them with a migration after
/// this one, so the tables are empty.
const CLEAR_STATISTICS: &str = "PERFORM pg_clear_attribute_stats(place.nspname, place.relname, place.attname, false);";

/// Runs the migrations and creates the reader role. sqlx takes an advisory lock and records the migrations. Changes nothing after
/// migrations of a newer program. The connection has no timeout afterwards.
pub(crate) async fn migrate(connection: &mut PgConnection) -> Result<(), ReadModelError> {
    // Building an index may take longer than the timeout of reads.
    connection.execute("SET statement_timeout = 0").await?;
    reader_role::ensure(connection).await?;
    migrator(ServerVersion::of(connection).has_statistics_functions())
        .run_direct(None, connection, false)
        .await
        .map_err(error_of)?;
    check(&connection.fetch_all(READ_MIGRATIONS).await?)
}

/// Checks by the result of [`READ_MIGRATIONS`] that this program can use the database.
pub(crate) fn check(rows: &[PgRow]) -> Result<(), ReadModelError> {
    let migrations = Migrations::from_rows(rows, known())?;
    let Migrations { found, known, .. } = migrations;
    match migrations.compatibility() {
        Compatibility::Compatible => Ok(()),
        Compatibility::Outdated => Err(ReadModelError::unavailable(format!(
            "the database schema has migration {found}, but {known} is needed: run hansard migrate, or start a projector that migrates"
        ))),
        Compatibility::Unknown => Err(ReadModelError::SchemaUnknown { found, known }),
    }
}

fn migrator(has_statistics_functions: bool) -> Migrator {
    let migrations = MIGRATIONS.map(|(version, description, sql)| {
        let migration = Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false);
        if version == STATISTICS && !has_statistics_functions {
            // The checksum stays: the database may move to a later version of Postgres.
            return Migration { sql: AssertSqlSafe(sql.replace(CLEAR_STATISTICS, "")).into_sql_str(), ..migration };
        }
        migration
    });
    let mut migrator = Migrator::with_migrations(migrations.into());
    migrator.create_schema("hansard");
    migrator.dangerous_set_table_name("hansard.migration");
    // `check` decides about later migrations.
    migrator.set_ignore_missing(true);
    migrator
}

/// The last migration of this program.
pub(crate) fn known() -> i64 {
    MIGRATIONS.map(|(version, ..)| version).into_iter().max().unwrap_or(0)
}

fn error_of(error: MigrateError) -> ReadModelError {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the enum is open")]
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
        MigrateError::VersionMismatch(version) => ReadModelError::SchemaAltered { version },
        _ => ReadModelError::unavailable("the migrations failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The migration that adds the floor: older programs reject all later ones.
    const FLOOR_SINCE: i64 = 21;

    /// Whether a migration declares that programs without it can continue, or that they cannot.
    fn is_declared(version: i64, sql: &str) -> bool {
        let floor = format!("ALTER TABLE hansard.migration ALTER COLUMN floor SET DEFAULT {version};");
        sql.starts_with("-- Additive: ") != sql.trim_end().ends_with(&floor)
    }

    #[test]
    fn every_migration_declares_its_compatibility() {
        let floor = "ALTER TABLE hansard.migration ALTER COLUMN floor SET DEFAULT 22;\n";
        for (sql, expected) in [
            ("-- Additive: older programs ignore it.\nALTER TABLE t ADD COLUMN c bigint;\n", true),
            (floor, true),
            ("ALTER TABLE t DROP COLUMN c;\n", false),
            (&format!("-- Additive: no.\n{floor}"), false),
            (&format!("{floor}ALTER TABLE t DROP COLUMN c;\n"), false),
        ] {
            assert_eq!(is_declared(22, sql), expected, "{sql}");
        }
        assert!(!is_declared(23, floor), "the floor is of another migration");
        for (version, name, sql) in MIGRATIONS {
            assert!(version <= FLOOR_SINCE || is_declared(version, sql), "{name}");
        }
    }

    #[test]
    fn only_servers_with_statistics_functions_are_asked_to_clear_statistics() {
        for (has_statistics_functions, expected) in [(true, 1), (false, 0)] {
            let migrator = migrator(has_statistics_functions);
            let clearing =
                migrator.iter().filter(|migration| migration.sql.as_str().contains("pg_clear_attribute_stats"));
            assert_eq!(clearing.count(), expected, "{has_statistics_functions}");
        }
    }

    #[test]
    fn the_checksum_is_the_same_on_all_servers() {
        let checksums = |has_statistics_functions| -> Vec<_> {
            migrator(has_statistics_functions).iter().map(|migration| migration.checksum.clone()).collect()
        };
        assert_eq!(checksums(true), checksums(false));
    }
}
