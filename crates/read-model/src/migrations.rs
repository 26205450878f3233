//! The migrations of a database compared with those of this program.

use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::error::ReadModelError;

/// Reads the last migration and the floor. Before migration 21 there is no floor, and a program must know every migration.
pub(crate) const READ_MIGRATIONS: &str = "
    SELECT coalesce(max(version), 0), coalesce(max((to_jsonb(migration) ->> 'floor')::bigint), max(version), 0)
    FROM hansard.migration AS migration";

/// The migrations of a database and of this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrations {
    /// The last migration of the database.
    pub found: i64,
    /// The lowest migration that a program must know.
    pub floor: i64,
    /// The last migration of this program.
    pub known: i64,
}

/// Whether a program can use a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compatibility {
    /// It can: it knows all migrations, or the later ones are additive.
    Compatible,
    /// The database lacks migrations of the program.
    Outdated,
    /// The database has a migration that the program must know, and does not.
    Unknown,
}

impl Migrations {
    /// Whether this program can use the database.
    #[must_use]
    pub fn compatibility(self) -> Compatibility {
        if self.found < self.known {
            Compatibility::Outdated
        } else if self.floor > self.known {
            Compatibility::Unknown
        } else {
            Compatibility::Compatible
        }
    }

    /// From the result of [`READ_MIGRATIONS`].
    pub(crate) fn from_rows(rows: &[PgRow], known: i64) -> Result<Self, ReadModelError> {
        let column = |index| rows.first().map_or(Ok(0), |row| row.try_get(index));
        Ok(Self { found: column(0)?, floor: column(1)?, known })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_migrations_are_compatible_up_to_the_floor() {
        let check = |found, floor, known, expected| {
            let migrations = Migrations { found, floor, known };
            assert_eq!(migrations.compatibility(), expected, "{migrations:?}");
        };
        check(0, 0, 21, Compatibility::Outdated);
        check(20, 20, 21, Compatibility::Outdated);
        check(21, 21, 21, Compatibility::Compatible);
        check(24, 21, 24, Compatibility::Compatible);
        // Additive migrations follow those of the program.
        check(24, 21, 21, Compatibility::Compatible);
        // At the floor, and one below it.
        check(24, 23, 23, Compatibility::Compatible);
        check(24, 23, 22, Compatibility::Unknown);
        check(24, 24, 23, Compatibility::Unknown);
        check(24, 24, 25, Compatibility::Outdated);
    }
}
