//! Reads the token usage of models, by day and by tenant, agent, API key and owner.

use domain::{AgentId, TenantAccess};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::usage_by_day::USAGE_ROWS_MAX;
use crate::arguments::arguments;
use crate::day::{Day, DayRange};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// What usage is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UsageScope {
    /// A tenant; its name in usage is empty.
    Tenant,
    /// An agent, by its id.
    Agent,
    /// An API key, by its id.
    Key,
    /// An owner, by the digest.
    Owner,
}

/// The calls of models by an agent or with an API key on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUsageDay {
    /// The day on which the calls were stored.
    pub day: Day,
    /// [`UsageScope::Agent`] or [`UsageScope::Key`].
    pub scope: UsageScope,
    /// The agent or the key.
    pub name: String,
    /// Number of calls.
    pub calls: u64,
    /// Input tokens, at most `i64::MAX`.
    pub input_tokens: u64,
    /// Output tokens, at most `i64::MAX`.
    pub output_tokens: u64,
}

/// The tokens of one subject on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsedTokens {
    /// Input and output tokens.
    pub tokens: u64,
    /// How often the sum was corrected.
    pub corrections: u64,
}

impl UsageScope {
    /// All scopes except owners.
    pub(crate) const WITHOUT_OWNERS: [Self; 3] = [Self::Tenant, Self::Agent, Self::Key];

    /// Its code in rows.
    pub(crate) fn code(self) -> i16 {
        match self {
            Self::Tenant => 1,
            Self::Agent => 2,
            Self::Key => 3,
            Self::Owner => 4,
        }
    }
}

/// The input and output tokens of one day, summed for each of the subjects and in their order.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn model_usage_of(
    model: &ReadModel,
    access: &TenantAccess,
    day: Day,
    subjects: &[(UsageScope, &str)],
) -> Result<Vec<UsedTokens>, ReadModelError> {
    let scopes: Vec<i16> = subjects.iter().map(|(scope, _)| scope.code()).collect();
    let names: Vec<&str> = subjects.iter().map(|(_, name)| *name).collect();
    let tenant = access.tenant().as_str();
    let arguments = || arguments![tenant, day, scopes.as_slice(), names.as_slice()];
    let sql = include_str!("model_usage_of.sql");
    let mut used = vec![UsedTokens::default(); subjects.len()];
    for row in model.read(access, sql, arguments).await? {
        let index = count(access, &row, "place")?.saturating_sub(1);
        let input = count(access, &row, "input_tokens")?;
        let output = count(access, &row, "output_tokens")?;
        let index = usize::try_from(index).ok();
        if let Some(sum) = index.and_then(|index| used.get_mut(index)) {
            sum.tokens = input.saturating_add(output);
            sum.corrections = count(access, &row, "corrections")?;
        }
    }
    Ok(used)
}

/// The usage of a tenant's agents and API keys, or of one agent, by day, then agents before keys, then by name. Days without
/// usage have no row.
///
/// Returns at most [`USAGE_ROWS_MAX`] rows. If it returns that many, the last day may be incomplete: read fewer days, or one
/// agent.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn model_usage_by_day(
    model: &ReadModel,
    access: &TenantAccess,
    agent: Option<&AgentId>,
    days: DayRange,
) -> Result<Vec<ModelUsageDay>, ReadModelError> {
    let arguments = || {
        arguments![
            access.tenant().as_str(),
            days.first(),
            days.last(),
            i64::from(USAGE_ROWS_MAX),
            agent.map(AgentId::as_str),
        ]
    };
    let sql = include_str!("model_usage_by_tenant.sql");
    let rows = model.read(access, sql, arguments).await?;
    rows.iter().map(|row| usage_day(access, row)).collect()
}

fn usage_day(access: &TenantAccess, row: &PgRow) -> Result<ModelUsageDay, ReadModelError> {
    let code: i16 = row.try_get("scope")?;
    let scope = UsageScope::WITHOUT_OWNERS.into_iter().find(|scope| scope.code() == code);
    Ok(ModelUsageDay {
        day: row.try_get("day")?,
        scope: scope.ok_or_else(|| corrupt(access, "scope"))?,
        name: row.try_get("name")?,
        calls: count(access, row, "calls")?,
        input_tokens: count(access, row, "input_tokens")?,
        output_tokens: count(access, row, "output_tokens")?,
    })
}

fn count(access: &TenantAccess, row: &PgRow, column: &str) -> Result<u64, ReadModelError> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| corrupt(access, column))
}

fn corrupt(access: &TenantAccess, field: &str) -> ReadModelError {
    ReadModelError::corrupt("model_usage", access.tenant().to_string(), field)
}
