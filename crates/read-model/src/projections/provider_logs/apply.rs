//! Writes a batch of calls: rows and checkpoint in one transaction.

use domain::{CallPurpose, ConversationKey, LoggedBody, LoggedCall, Sequence, Timestamp};
use sqlx::Executor as _;
use sqlx::postgres::{PgArguments, PgConnection};
use thiserror::Error;

use super::corrections::{StoredCorrection, correct_usage};
use super::usage::{StoredUsage, count_usage};
use crate::arguments::{arguments, execute, signed};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::pg_timestamp::PgTimestamp;
use crate::projections::Holder;
use crate::purpose_code::{ANSWER, SUMMARY, TITLE};

/// Shared by the transactions that write calls: an erasure waits until they have committed.
const LOCK_SHARED: &str = "SELECT pg_advisory_xact_lock_shared(hashtextextended('hansard.provider_log', 0))";
/// Exclusive to an erasure: transactions that write calls wait and then see its tombstones.
const LOCK_EXCLUSIVE: &str = "SELECT pg_advisory_xact_lock(hashtextextended('hansard.provider_log', 0))";

/// Consecutive calls of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBatch {
    /// The projector that writes them.
    pub holder: Holder,
    /// The checkpoint before the batch.
    pub previous: Sequence,
    /// The checkpoint after the batch.
    pub last: Sequence,
    /// The logged calls of the batch.
    pub calls: Vec<StoredCall>,
    /// The metered calls of the batch.
    pub usage: Vec<StoredUsage>,
    /// The corrections of the batch, of calls that were counted before it or in it.
    pub corrections: Vec<StoredCorrection>,
}

/// A call in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredCall {
    /// The conversation.
    pub key: ConversationKey,
    /// When the stream stored it.
    pub stored_at: Timestamp,
    /// The call.
    pub logged: LoggedCall,
}

/// Why a batch was not written. No part of it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LogsApplyError {
    /// Another projector holds the log, or its checkpoint is not `previous`: take it again.
    #[error("another projector holds the provider log")]
    Fenced,
    /// The read model could not be written; after [`ReadModelError::Unavailable`] retry the same batch.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// Writes a batch and advances the checkpoint, in one transaction. Skips calls that exist already and calls of erased
/// conversations.
///
/// # Errors
/// [`LogsApplyError`].
pub async fn apply(model: &ReadModel, batch: &LogBatch) -> Result<(), LogsApplyError> {
    let work = async |connection: &mut PgConnection| {
        advance(connection, batch).await?;
        write(connection, batch).await?;
        Ok(())
    };
    model.transaction(Durability::Repeatable, work).await
}

/// Deletes the calls of erased conversations, in the transaction that writes the tombstones. Concurrent writes of calls wait
/// and then skip these conversations.
///
/// # Errors
/// Those of Postgres.
pub(crate) async fn erase(connection: &mut PgConnection, erased: PgArguments) -> Result<(), sqlx::Error> {
    connection.execute(LOCK_EXCLUSIVE).await?;
    execute(connection, include_str!("erase.sql"), erased).await.map(drop)
}

async fn write(connection: &mut PgConnection, batch: &LogBatch) -> Result<(), ReadModelError> {
    connection.execute(LOCK_SHARED).await?;
    for call in &batch.calls {
        execute(connection, include_str!("insert.sql"), arguments(call)).await?;
    }
    count_usage(connection, &batch.usage).await?;
    correct_usage(connection, &batch.corrections).await
}

async fn advance(connection: &mut PgConnection, batch: &LogBatch) -> Result<(), LogsApplyError> {
    let sql = "UPDATE hansard.provider_log_checkpoint SET sequence = $3 WHERE holder = $1 AND sequence = $2";
    let (previous, last) = (signed(batch.previous.0), signed(batch.last.0));
    let arguments = arguments![batch.holder.0.as_str(), previous, last];
    let advanced = execute(connection, sql, arguments).await;
    match advanced.map_err(ReadModelError::from)? {
        0 => Err(LogsApplyError::Fenced),
        _ => Ok(()),
    }
}

/// The arguments of `insert.sql`.
fn arguments(placed: &StoredCall) -> PgArguments {
    let StoredCall { key, stored_at, logged } = placed;
    let call = &logged.call;
    let kept_until = stored_at.after(logged.kept_for());
    let tokens = |count: fn(&domain::event::Usage) -> u64| {
        let usage = call.usage.as_ref();
        usage.map(|usage| signed(count(usage)))
    };
    let purpose: i16 = match call.purpose {
        CallPurpose::Answer => ANSWER,
        CallPurpose::Summary => SUMMARY,
        CallPurpose::Title => TITLE,
    };
    let label = |label: &Option<domain::Label>| label.as_ref().map(|label| label.as_str().to_owned());
    let cut = |body: &Option<LoggedBody>| body.as_ref().map(|body| body.is_cut);
    let bytes = |body: &Option<LoggedBody>| body.as_ref().map(|body| body.text.clone().into_bytes());
    arguments![
        PgTimestamp::from_time(call.started_at),
        PgTimestamp::from_time(kept_until),
        call.first_piece_ms.map(signed),
        signed(call.took_ms),
        signed(call.request_bytes),
        signed(call.reply_bytes),
        tokens(|usage| usage.input_tokens),
        tokens(|usage| usage.output_tokens),
        tokens(|usage| usage.cached_tokens),
        tokens(|usage| usage.reasoning_tokens),
        i64::from(call.attempt),
        call.id.0,
        call.run.0,
        call.http_status.map(i32::from),
        purpose,
        cut(&call.request),
        cut(&call.reply),
        key.tenant.as_str(),
        key.conversation.as_str(),
        logged.agent.as_str(),
        call.server.as_str(),
        call.model.as_str(),
        call.outcome.as_str(),
        label(&call.finish_reason),
        bytes(&call.request),
        bytes(&call.reply),
    ]
}
