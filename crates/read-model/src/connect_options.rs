//! The options of every connection.

use std::str::FromStr as _;

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use crate::certificates;
use crate::config::ReadModelConfig;
use crate::error::ReadModelError;

/// Idle timeout of a transaction, in milliseconds: a frozen process loses its locks well before the leases of others expire.
const IDLE_IN_TRANSACTION_MS_MAX: &str = "2000";

/// The schemes of a database URL.
const SCHEMES: [&str; 2] = ["postgres", "postgresql"];

/// Parses a database URL.
///
/// # Errors
/// [`ReadModelError::Misconfigured`].
pub(crate) fn parse(url: &str) -> Result<PgConnectOptions, ReadModelError> {
    let is_postgres = url.split_once("://").is_some_and(|(scheme, _)| SCHEMES.contains(&scheme));
    let options = PgConnectOptions::from_str(url).ok().filter(|_| is_postgres).ok_or(ReadModelError::Misconfigured)?;
    // The driver would look up `[::1]` as a name.
    let ip = options.get_host().strip_prefix('[').and_then(|host| host.strip_suffix(']')).map(str::to_owned);
    Ok(match ip {
        Some(ip) => options.host(&ip),
        None => options,
    })
}

/// The options of the connections of a configuration.
///
/// Each statement of this crate is designed for one index, so that its cost does not grow with a conversation or a tenant.
/// The settings force the planner to use that index, even with poor statistics, and to reuse plans.
pub(crate) fn of(config: &ReadModelConfig) -> Result<PgConnectOptions, ReadModelError> {
    let options = parse(&config.database_url)?;
    certificates::check(&config.database_url)?;
    let statement_timeout = config.statement_timeout_ms.to_string();
    Ok(options.application_name("hansard").disable_statement_logging().options([
        ("statement_timeout", statement_timeout.as_str()),
        ("idle_in_transaction_session_timeout", IDLE_IN_TRANSACTION_MS_MAX),
        ("plan_cache_mode", "force_generic_plan"),
        ("enable_seqscan", "off"),
        ("enable_bitmapscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("jit", "off"),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_those_of_postgres() {
        for (url, expected) in [
            ("postgres://u@h/d", Some("h")),
            ("postgresql://u@h:1/d", Some("h")),
            ("postgres://u@[::1]:5432/d", Some("::1")),
            ("postgress://u@h/d", None),
            ("mysql://u@h/d", None),
            ("u@h/d", None),
            ("", None),
        ] {
            let host = parse(url).ok().map(|options| options.get_host().to_owned());
            assert_eq!(host.as_deref(), expected, "{url}");
        }
    }
}
