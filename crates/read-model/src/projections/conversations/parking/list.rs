//! Lists parked conversations.

use domain::{ConversationKey, Partition, Position, Sequence, TenantId};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::super::row_key::parse_key;
use crate::arguments::{arguments, bind, bind_key, partition_of, unsigned};
use crate::error::ReadModelError;
use crate::model::ReadModel;

/// A conversation that cannot be projected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedConversation {
    /// The conversation.
    pub key: ConversationKey,
    /// The commit that failed.
    pub position: Position,
    /// The reason, for operators; never a value.
    pub reason: String,
    /// Number of attempts.
    pub attempts: u32,
    /// Number of waiting commits, including the failed one.
    pub commits: u64,
}

/// Parked conversations of one partition or of all, by tenant and conversation, at most `limit`. `after` is the last one of
/// the previous page.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn list(
    model: &ReadModel,
    partition: Option<Partition>,
    after: Option<&ConversationKey>,
    limit: u32,
) -> Result<Vec<ParkedConversation>, ReadModelError> {
    let partition = partition.map(|partition| i32::from(partition.0));
    let tenant = after.map_or("", |key| key.tenant.as_str());
    let conversation = after.map_or("", |key| key.conversation.as_str());
    let arguments = || arguments![partition, tenant, conversation, i64::from(limit)];
    let sql = include_str!("parked_conversations.sql");
    let rows = model.fetch(sql, arguments).await?;
    rows.iter().map(parked_conversation).collect()
}

/// As [`list()`] of all partitions, from a tenant on, for readers, who see the rows of one tenant otherwise.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn list_by_reader(
    model: &ReadModel,
    from: Option<&TenantId>,
    limit: u32,
) -> Result<Vec<ParkedConversation>, ReadModelError> {
    let tenant = from.map_or("", TenantId::as_str);
    let arguments = || arguments![tenant, i64::from(limit)];
    let sql = "SELECT tenant_id, conversation_id, partition, sequence, reason, attempts, commits
               FROM hansard.parked_conversations($1, $2)";
    let rows = model.fetch(sql, arguments).await?;
    rows.iter().map(parked_conversation).collect()
}

/// Finds a parked conversation; `None`: it is not parked.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn find(model: &ReadModel, key: &ConversationKey) -> Result<Option<ParkedConversation>, ReadModelError> {
    let sql = include_str!("parked_conversation.sql");
    let rows = model.fetch(sql, || bind_key(key)).await?;
    rows.first().map(parked_conversation).transpose()
}

/// The sequences of the first `limit` waiting commits of a parked conversation, in order.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn waiting(model: &ReadModel, key: &ConversationKey, limit: u32) -> Result<Vec<Sequence>, ReadModelError> {
    let arguments = || bind(bind_key(key), i64::from(limit));
    let sql = include_str!("parked_commits.sql");
    sequences(&model.fetch(sql, arguments).await?)
}

/// The number of parked conversations.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn count(model: &ReadModel) -> Result<u64, ReadModelError> {
    let sql = "SELECT count(*) FROM parked_conversation";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(unsigned(count))
}

/// The sequences in rows of `parked_commits.sql`.
pub(super) fn sequences(rows: &[PgRow]) -> Result<Vec<Sequence>, ReadModelError> {
    let sequence = |row: &PgRow| Ok(Sequence(unsigned(row.try_get(0)?)));
    rows.iter().map(sequence).collect()
}

fn parked_conversation(row: &PgRow) -> Result<ParkedConversation, ReadModelError> {
    Ok(ParkedConversation {
        key: parse_key(row.try_get("tenant_id")?, row.try_get("conversation_id")?)?,
        position: Position {
            partition: partition_of(row.try_get("partition")?),
            sequence: Sequence(unsigned(row.try_get("sequence")?)),
        },
        reason: row.try_get("reason")?,
        attempts: u32::try_from(row.try_get::<i32, _>("attempts")?).unwrap_or(0),
        commits: unsigned(row.try_get("commits")?),
    })
}
