//! Active runs of all tenants, for the sweep that ends abandoned runs.

use domain::{ActiveRun, AgentId, ConversationId, ConversationKey, SweepAccess, TenantId, Timestamp};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::arguments::arguments;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::row::head_of;

/// Maximum number of runs of one read.
pub const ACTIVE_RUNS_PER_READ_MAX: u32 = 1_000;

/// A conversation with an active run in its row; in the record the run may have ended already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRunRow {
    /// The conversation.
    pub key: ConversationKey,
    /// The agent of the conversation.
    pub agent: AgentId,
    /// The run, and whether a stop was requested.
    pub run: ActiveRun,
    /// When the last commit of the conversation was recorded: the run did not start later.
    pub recorded_at: Timestamp,
}

/// A page of the conversations with an active run, of all tenants, by ascending key. `after` is the last key of the previous
/// page; `limit` is capped at [`ACTIVE_RUNS_PER_READ_MAX`].
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn active_runs(
    model: &ReadModel,
    _access: &SweepAccess,
    after: Option<&ConversationKey>,
    limit: u32,
) -> Result<Vec<ActiveRunRow>, ReadModelError> {
    let tenant = after.map_or("", |key| key.tenant.as_str());
    let conversation = after.map_or("", |key| key.conversation.as_str());
    let limit = i64::from(limit.min(ACTIVE_RUNS_PER_READ_MAX));
    let arguments = || arguments![tenant, conversation, limit];
    let rows = model.fetch(include_str!("active_runs.sql"), arguments).await?;
    rows.iter().map(active_run).collect()
}

fn active_run(row: &PgRow) -> Result<ActiveRunRow, ReadModelError> {
    let tenant: &str = row.try_get("tenant_id")?;
    let conversation: &str = row.try_get("conversation_id")?;
    let corrupt = |field: &str| ReadModelError::corrupt("conversation", format!("{tenant}/{conversation}"), field);
    let head = head_of(row.try_get("head")?).map_err(|field| corrupt(&field))?;
    Ok(ActiveRunRow {
        key: ConversationKey {
            tenant: TenantId::parse(tenant).map_err(|_| corrupt("tenant_id"))?,
            conversation: ConversationId::parse(conversation).map_err(|_| corrupt("conversation_id"))?,
        },
        agent: head.agent,
        run: head.active_run.ok_or_else(|| corrupt("active_run_id"))?,
        recorded_at: head.recorded_at,
    })
}
