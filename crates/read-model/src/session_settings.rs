//! The settings of sessions: the role and the schema of statements, their timeouts, and the plans of the planner.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::config::ReadModelConfig;

/// Idle timeout of a transaction, in milliseconds: a frozen process loses its locks well before the leases of others expire.
const IDLE_IN_TRANSACTION_MS_MAX: &str = "2000";
/// It is in no list of settings.
const ROLE: &str = "role";
/// The id of a connection: its session has it, if it began with the options of that connection.
const CONNECTION: &str = "hansard.connection";
/// The name of the server's process among the values in effect.
const SERVER_PROCESS: &str = "server process";

/// Values in effect, by setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EffectiveSettings(BTreeMap<String, String>);

/// Settings: names, and values in the units of Postgres.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionSettings(Vec<(&'static str, String)>);

impl SessionSettings {
    /// The settings of all connections of a configuration.
    ///
    /// Each statement of this crate is designed for one index, so that its cost does not grow with a conversation or a tenant.
    /// The settings force the planner to use that index, even with poor statistics, and to reuse plans.
    pub(crate) fn of(config: &ReadModelConfig) -> Self {
        let fixed = [
            ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MS_MAX),
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_bitmapscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("jit", "off"),
        ];
        let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
        Self(fixed.into()).with("statement_timeout", config.statement_timeout_ms.to_string())
    }

    /// These settings and another one.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.0.push((name, value.into()));
        self
    }

    /// These settings and a role.
    pub(crate) fn with_role(self, role: &str) -> Self {
        self.with(ROLE, role)
    }

    /// The options of a connection with that id, whose session starts with these settings. A reset returns to them.
    pub(crate) fn startup_options(&self, login: &PgConnectOptions, connection: &str) -> PgConnectOptions {
        let settings = self.0.iter().map(|(name, value)| (*name, value.as_str()));
        login.clone().options(settings.chain([(CONNECTION, connection)]))
    }

    /// The statement that sets them until the end of a transaction.
    pub(crate) fn set_local_sql(&self) -> String {
        let mut sql = "SELECT".to_owned();
        for (number, (name, value)) in self.0.iter().enumerate() {
            let separator = if number == 0 { "" } else { "," };
            // Writing to a string does not fail.
            let _ = write!(sql, "{separator} {}", set_local(name, value));
        }
        sql
    }

    /// Reads the values in effect.
    pub(crate) async fn read(&self, connection: &mut PgConnection) -> Result<EffectiveSettings, sqlx::Error> {
        let rows = connection.fetch_all(AssertSqlSafe(self.read_sql())).await?;
        let values = rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?)));
        values.collect::<Result<_, sqlx::Error>>().map(EffectiveSettings)
    }

    fn read_sql(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|(name, _)| quoted(name)).collect();
        format!(
            "SELECT name, setting FROM pg_settings WHERE name IN ({}) \
             UNION ALL SELECT '{ROLE}', current_setting('{ROLE}') \
             UNION ALL SELECT '{CONNECTION}', coalesce(current_setting('{CONNECTION}', true), '') \
             UNION ALL SELECT '{SERVER_PROCESS}', pg_backend_pid()::text",
            names.join(", ")
        )
    }

    /// The first of these settings that is not in effect: what was found, and what is needed.
    pub(crate) fn mismatch(&self, found: &EffectiveSettings) -> Option<String> {
        self.0.iter().find_map(|(name, needed)| {
            let found = found.get(name);
            (found != needed).then(|| format!("the setting {name} is {found} instead of {needed}"))
        })
    }
}

impl EffectiveSettings {
    /// The id of the connection with whose options the session began; empty: it had none.
    pub(crate) fn connection(&self) -> &str {
        self.get(CONNECTION)
    }

    fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("unknown", String::as_str)
    }
}

/// The call that sets a value until the end of a transaction.
pub(crate) fn set_local(name: &str, value: &str) -> String {
    format!("set_config({}, {}, true)", quoted(name), quoted(value))
}

/// A literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> SessionSettings {
        SessionSettings(vec![("jit", "off".to_owned())]).with_role("hansard_reader")
    }

    #[test]
    fn statements_quote_values() {
        let sql = settings().with("search_path", "it's").set_local_sql();
        let expected = "SELECT set_config('jit', 'off', true), set_config('role', 'hansard_reader', true), \
                        set_config('search_path', 'it''s', true)";
        assert_eq!(sql, expected);
        assert!(settings().read_sql().contains("IN ('jit', 'role')"));
    }

    #[test]
    fn a_setting_without_effect_is_named() {
        for (found, expected) in [
            (&[("jit", "off"), ("role", "hansard_reader"), ("work_mem", "1")][..], None),
            (&[("jit", "off"), ("role", "none")], Some("the setting role is none instead of hansard_reader")),
            (&[("jit", "on"), ("role", "none")], Some("the setting jit is on instead of off")),
            (&[("role", "hansard_reader")], Some("the setting jit is unknown instead of off")),
        ] {
            let found = found.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let found = EffectiveSettings(found.collect());
            assert_eq!(settings().mismatch(&found).as_deref(), expected, "{found:?}");
        }
    }
}
