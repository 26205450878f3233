//! Reads the usage of models, by day, agent and model.

use domain::event::Usage;
use domain::{AgentId, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::arguments::{arguments, bind};
use crate::day::{Day, DayRange};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Maximum number of rows of one read of usage.
pub const USAGE_ROWS_MAX: u32 = 10_000;

/// The usage of a model by one agent on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageDay {
    /// The day on which the messages were recorded.
    pub day: Day,
    /// The agent of the conversations.
    pub agent: AgentId,
    /// The model; `None`: the messages do not name it.
    pub model: Option<String>,
    /// Number of messages of the assistant that contain usage.
    pub messages: u64,
    /// The sums of their tokens, each at most `i64::MAX`.
    pub tokens: Usage,
}

/// The usage of the tenant's agents, or of one, by day, then agent, then model, all ascending. Days without usage have no row.
///
/// Returns at most [`USAGE_ROWS_MAX`] rows. If it returns that many, the last day may be incomplete: read fewer days, or one
/// agent. Usage that was projected before an erasure remains counted.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn usage_by_day(
    model: &ReadModel,
    access: &TenantAccess,
    agent: Option<&AgentId>,
    days: DayRange,
) -> Result<Vec<UsageDay>, ReadModelError> {
    let arguments = || {
        let (tenant, limit) = (access.tenant().as_str(), i64::from(USAGE_ROWS_MAX));
        let arguments = arguments![tenant, days.first(), days.last(), limit];
        match agent {
            Some(agent) => bind(arguments, agent.as_str()),
            None => arguments,
        }
    };
    let sql = match agent {
        Some(_) => include_str!("usage_by_agent.sql"),
        None => include_str!("usage_by_tenant.sql"),
    };
    let rows = model.read(access, sql, arguments).await?;
    rows.iter().map(|row| usage_day(access, row)).collect()
}

fn usage_day(access: &TenantAccess, row: &PgRow) -> Result<UsageDay, ReadModelError> {
    let day: Day = row.try_get("day")?;
    let agent: &str = row.try_get("agent_id")?;
    let model: String = row.try_get("model")?;
    let corrupt =
        |field: &str| ReadModelError::corrupt("usage_day", format!("{}/{agent}/{day}", access.tenant()), field);
    let count = |column: &str| {
        let number: i64 = row.try_get(column)?;
        u64::try_from(number).map_err(|_| corrupt(column))
    };
    Ok(UsageDay {
        day,
        agent: AgentId::parse(agent).map_err(|_| corrupt("agent_id"))?,
        messages: count("messages")?,
        tokens: Usage {
            input_tokens: count("input_tokens")?,
            output_tokens: count("output_tokens")?,
            cached_tokens: count("cached_tokens")?,
            reasoning_tokens: count("reasoning_tokens")?,
        },
        model: (!model.is_empty()).then_some(model),
    })
}
