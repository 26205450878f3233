//! The versions of Postgres that are supported.

use sqlx::postgres::PgConnection;

/// The oldest supported version.
const MAJOR_MIN: u32 = 16;
/// The first version with functions that change statistics of the planner.
const STATISTICS_FUNCTIONS_SINCE: u32 = 18;
const NUMBERS_PER_MAJOR: u32 = 10_000;

/// The version of a server: 160014 is 16.14. Zero: it has an unknown form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ServerVersion(u32);

impl ServerVersion {
    /// The version that the server reported when the connection was opened.
    pub(crate) fn of(connection: &PgConnection) -> Self {
        Self(connection.server_version_num().unwrap_or(0))
    }

    /// Why the version is not supported.
    pub(crate) fn problem(self) -> Option<String> {
        let (major, minor) = (self.0 / NUMBERS_PER_MAJOR, self.0 % NUMBERS_PER_MAJOR);
        let is_old = self.0 > 0 && major < MAJOR_MIN;
        is_old.then(|| {
            format!("is version {major}.{minor}, which is not supported: upgrade it to Postgres {MAJOR_MIN}, 17 or 18")
        })
    }

    /// Whether it has functions that change statistics of the planner.
    pub(crate) fn has_statistics_functions(self) -> bool {
        self.0 / NUMBERS_PER_MAJOR >= STATISTICS_FUNCTIONS_SINCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_named() {
        let old = Some("is version 15.18, which is not supported: upgrade it to Postgres 16, 17 or 18");
        for (number, expected) in [(150_018, old), (160_000, None), (180_006, None), (190_000, None), (0, None)] {
            assert_eq!(ServerVersion(number).problem().as_deref(), expected, "{number}");
        }
    }
}
