//! What is parked.

use domain::{ConversationKey, Partition, Position, Sequence};
use sqlx::Row as _;
use sqlx::postgres::{PgArguments, PgRow};

use super::super::row_key::key_of;
use super::bind_key;
use crate::error::ReadModelError;
use crate::model::ReadModel;
use crate::queries::bind;

/// A conversation that cannot be projected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParkedConversation {
    /// The conversation.
    pub key: ConversationKey,
    /// The commit that failed.
    pub position: Position,
    /// Why, in words for an operator; never a value.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// How many commits wait, the failed one among them.
    pub commits: u64,
}

/// Parked conversations by tenant and conversation, at most `limit`, of one partition or of all; `after` is the last of
/// the page before.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn list(
    model: &ReadModel,
    partition: Option<Partition>,
    after: Option<&ConversationKey>,
    limit: u32,
) -> Result<Vec<ParkedConversation>, ReadModelError> {
    let arguments = || {
        let partition = partition.map(|partition| i32::from(partition.0));
        let arguments = bind(PgArguments::default(), partition);
        let arguments = bind(arguments, after.map_or("", |key| key.tenant.as_str()));
        let arguments = bind(arguments, after.map_or("", |key| key.conversation.as_str()));
        bind(arguments, i64::from(limit))
    };
    let rows = model
        .fetch(include_str!("parked_conversations.sql"), arguments)
        .await?;
    rows.iter().map(parked_conversation).collect()
}

/// A parked conversation; `None`: it is not parked.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn find(
    model: &ReadModel,
    key: &ConversationKey,
) -> Result<Option<ParkedConversation>, ReadModelError> {
    let sql = include_str!("parked_conversation.sql");
    let rows = model.fetch(sql, || bind_key(key)).await?;
    rows.first().map(parked_conversation).transpose()
}

/// The places of a parked conversation's first `limit` waiting commits, in order.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn waiting(
    model: &ReadModel,
    key: &ConversationKey,
    limit: u32,
) -> Result<Vec<Sequence>, ReadModelError> {
    let arguments = || bind(bind_key(key), i64::from(limit));
    let rows = model
        .fetch(include_str!("parked_commits.sql"), arguments)
        .await?;
    rows.iter()
        .map(|row| Ok(sequence_of(row.try_get(0)?)))
        .collect()
}

/// How many conversations are parked.
///
/// # Errors
/// [`ReadModelError::Unavailable`].
pub async fn count(model: &ReadModel) -> Result<u64, ReadModelError> {
    let sql = "SELECT count(*) FROM parked_conversation";
    let rows = model.fetch(sql, PgArguments::default).await?;
    let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// The sequence in a column that was written from one.
pub(super) fn sequence_of(number: i64) -> Sequence {
    Sequence(u64::try_from(number).unwrap_or(0))
}

fn parked_conversation(row: &PgRow) -> Result<ParkedConversation, ReadModelError> {
    let partition: i32 = row.try_get(2)?;
    Ok(ParkedConversation {
        key: key_of(row.try_get(0)?, row.try_get(1)?)?,
        position: Position {
            partition: Partition(u16::try_from(partition).unwrap_or(u16::MAX)),
            sequence: sequence_of(row.try_get(3)?),
        },
        reason: row.try_get(4)?,
        attempts: u32::try_from(row.try_get::<i32, _>(5)?).unwrap_or(0),
        commits: u64::try_from(row.try_get::<i64, _>(6)?).unwrap_or(0),
    })
}
