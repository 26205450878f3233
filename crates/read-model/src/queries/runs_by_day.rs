//! Reads how runs ended, by day and agent.

use domain::{AgentId, RunOutcome, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::usage_by_day::USAGE_ROWS_MAX;
use crate::arguments::{arguments, unsigned};
use crate::day::{Day, DayRange};
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::outcome_code::outcome_of;

/// The runs of one agent that ended alike on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunsDay {
    /// The day on which the ends were recorded.
    pub day: Day,
    /// The agent of the conversations.
    pub agent: AgentId,
    /// How the runs ended.
    pub outcome: RunOutcome,
    /// Number of runs.
    pub runs: u64,
}

/// The ended runs of the tenant's agents, or of one, by day, then agent, then outcome. Days without ends have no row.
///
/// Returns at most [`USAGE_ROWS_MAX`] rows. If it returns that many, the last day may be incomplete: read fewer days, or one
/// agent. Runs that were projected before an erasure remain counted.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn runs_by_day(
    model: &ReadModel,
    access: &TenantAccess,
    agent: Option<&AgentId>,
    days: DayRange,
) -> Result<Vec<RunsDay>, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            days.first(),
            days.last(),
            i64::from(USAGE_ROWS_MAX),
            agent.map(AgentId::as_str),
        ]
    };
    let sql = include_str!("runs_by_day.sql");
    let rows = model.read(access, sql, arguments).await?;
    rows.iter().map(|row| runs_day(access, row)).collect()
}

fn runs_day(access: &TenantAccess, row: &PgRow) -> Result<RunsDay, ReadModelError> {
    let corrupt = |field: &str| ReadModelError::corrupt("run_day", access.tenant().to_string(), field);
    let agent: &str = row.try_get("agent_id")?;
    let outcome = outcome_of(row.try_get("outcome")?);
    Ok(RunsDay {
        day: row.try_get("day")?,
        agent: AgentId::parse(agent).map_err(|_| corrupt("agent_id"))?,
        outcome: outcome.ok_or_else(|| corrupt("outcome"))?,
        runs: unsigned(row.try_get("runs")?),
    })
}
