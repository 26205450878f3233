//! The options of every connection. The settings of its session are added later (see [`crate::session_settings`]).

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use crate::certificates;
use crate::config::ReadModelConfig;
use crate::database_url;
use crate::error::ReadModelError;

/// The options of the connections of a configuration.
pub(crate) fn of(config: &ReadModelConfig) -> Result<PgConnectOptions, ReadModelError> {
    let options = database_url::parse(&config.database_url)?;
    certificates::check(&config.database_url)?;
    // Poolers refuse the parameter, and no value needs it.
    Ok(options.application_name("hansard").extra_float_digits(None).disable_statement_logging())
}
