//! What models were paid for, by day, agent and model.

use domain::event::Usage;
use domain::{AgentId, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::bind;
use crate::day::{Day, DayRange};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Most rows of one read of usage.
pub const USAGE_ROWS_MAX: u32 = 10_000;

/// What a model was paid for on one day, by one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageDay {
    /// The day on which the messages were recorded.
    pub day: Day,
    /// Whose conversations they were in.
    pub agent: AgentId,
    /// The model that wrote them; `None`: they do not say.
    pub model: Option<String>,
    /// How many messages of the assistant told what they cost.
    pub messages: u64,
    /// The sums of their tokens, none over `i64::MAX`.
    pub tokens: Usage,
}

/// The usage of the tenant's agents, or of one, by day, then agent, then model, all rising. A day without any has no row.
///
/// At most [`USAGE_ROWS_MAX`] rows: where there are as many, the last day may not be whole, and the caller asks for fewer
/// days, or for one agent. What was projected of a conversation before it was erased stays counted.
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
        let arguments = bind(PgArguments::default(), access.tenant().as_str());
        let arguments = bind(bind(arguments, days.first()), days.last());
        let arguments = bind(arguments, i64::from(USAGE_ROWS_MAX));
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
    let day: Day = row.try_get(0)?;
    let agent: &str = row.try_get(1)?;
    let model: String = row.try_get(2)?;
    let corrupt = |field: &str| ReadModelError::Corrupt {
        table: "usage_day",
        row: format!("{}/{agent}/{day}", access.tenant()),
        field: field.to_owned(),
    };
    let count = |index: usize, name: &str| {
        let number: i64 = row.try_get(index)?;
        u64::try_from(number).map_err(|_| corrupt(name))
    };
    Ok(UsageDay {
        day,
        agent: AgentId::parse(agent).map_err(|_| corrupt("agent_id"))?,
        messages: count(3, "messages")?,
        tokens: Usage {
            input_tokens: count(4, "input_tokens")?,
            output_tokens: count(5, "output_tokens")?,
            cached_tokens: count(6, "cached_tokens")?,
            reasoning_tokens: count(7, "reasoning_tokens")?,
        },
        model: (!model.is_empty()).then_some(model),
    })
}
