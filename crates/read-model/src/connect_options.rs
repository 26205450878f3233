//! The options of every connection.

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use crate::certificates;
use crate::config::ReadModelConfig;
use crate::database_url;
use crate::error::ReadModelError;

/// Idle timeout of a transaction, in milliseconds: a frozen process loses its locks well before the leases of others expire.
const IDLE_IN_TRANSACTION_MS_MAX: &str = "2000";

/// The options of the connections of a configuration.
///
/// Each statement of this crate is designed for one index, so that its cost does not grow with a conversation or a tenant.
/// The settings force the planner to use that index, even with poor statistics, and to reuse plans.
pub(crate) fn of(config: &ReadModelConfig) -> Result<PgConnectOptions, ReadModelError> {
    let options = database_url::parse(&config.database_url)?;
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
