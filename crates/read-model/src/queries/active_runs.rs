//! The generations under way, of all tenants: for whoever ends those that nobody makes any more.

use domain::{
    ActiveRun, AgentId, ConversationId, ConversationKey, Head, SweepAccess, TenantId, Timestamp,
};
use prost::Message as _;
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};
use wire::proto::event::v1 as proto;

use super::bind;
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// Most runs of one read.
pub const ACTIVE_RUNS_PER_READ_MAX: u32 = 1_000;

/// A conversation with a generation under way, as its row has it: the record may know of its end already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveRunRow {
    /// The conversation.
    pub key: ConversationKey,
    /// The agent that speaks in it.
    pub agent: AgentId,
    /// The run, and whether it was asked to stop.
    pub run: ActiveRun,
    /// When the conversation's last commit was recorded: the run began no later.
    pub recorded_at: Timestamp,
}

/// A page of the conversations with a generation under way, of all tenants, by key rising; `after` is the key that the page
/// before ended with, `limit` at most [`ACTIVE_RUNS_PER_READ_MAX`], whatever is asked for.
///
/// # Errors
/// [`ReadModelError::Unavailable`] or [`ReadModelError::Corrupt`].
pub async fn active_runs(
    model: &ReadModel,
    _access: &SweepAccess,
    after: Option<&ConversationKey>,
    limit: u32,
) -> Result<Vec<ActiveRunRow>, ReadModelError> {
    let (tenant, conversation) = after.map_or(("", ""), |key| {
        (key.tenant.as_str(), key.conversation.as_str())
    });
    let arguments = || {
        let arguments = bind(PgArguments::default(), tenant);
        let arguments = bind(arguments, conversation);
        bind(arguments, i64::from(limit.min(ACTIVE_RUNS_PER_READ_MAX)))
    };
    let rows = model
        .fetch(include_str!("active_runs.sql"), arguments)
        .await?;
    rows.iter().map(active_run).collect()
}

fn active_run(row: &PgRow) -> Result<ActiveRunRow, ReadModelError> {
    let tenant: &str = row.try_get(0)?;
    let conversation: &str = row.try_get(1)?;
    let corrupt = |field: &str| ReadModelError::Corrupt {
        table: "conversation",
        row: format!("{tenant}/{conversation}"),
        field: field.to_owned(),
    };
    let head = head(row.try_get(2)?).ok_or_else(|| corrupt("head"))?;
    Ok(ActiveRunRow {
        key: ConversationKey {
            tenant: TenantId::parse(tenant).map_err(|_| corrupt("tenant_id"))?,
            conversation: ConversationId::parse(conversation)
                .map_err(|_| corrupt("conversation_id"))?,
        },
        agent: head.agent,
        run: head.active_run.ok_or_else(|| corrupt("active_run_id"))?,
        recorded_at: head.recorded_at,
    })
}

fn head(bytes: &[u8]) -> Option<Head> {
    wire::head::from_proto(proto::Head::decode(bytes).ok()?).ok()
}
