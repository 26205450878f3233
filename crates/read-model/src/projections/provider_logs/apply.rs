//! A batch of calls, written: rows and checkpoint in one transaction.

use domain::{CallPurpose, ConversationKey, LoggedBody, LoggedCall, Sequence, Timestamp};
use sqlx::Executor as _;
use sqlx::postgres::{PgArguments, PgConnection};
use thiserror::Error;

use super::usage::{PlacedUsage, count_usage};
use crate::error::ReadModelError;
use crate::model::{Durability, ReadModel};
use crate::moment::Moment;
use crate::projections::Holder;
use crate::purpose_code::{ANSWER, SUMMARY};
use crate::queries::{bind, signed};

/// Those who write calls, together: whoever erases waits until they have committed.
const LOCK: &str =
    "SELECT pg_advisory_xact_lock_shared(hashtextextended('hansard.provider_log', 0))";
/// Whoever erases, alone: those who write calls see its tombstones when it has committed.
const LOCK_OUT: &str = "SELECT pg_advisory_xact_lock(hashtextextended('hansard.provider_log', 0))";

/// Calls that stand behind each other in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogBatch {
    /// Who writes them.
    pub holder: Holder,
    /// Up to where the rows go before them.
    pub previous: Sequence,
    /// Up to where they go then.
    pub last: Sequence,
    /// The logged calls among these messages.
    pub calls: Vec<PlacedCall>,
    /// The metered calls among them.
    pub usage: Vec<PlacedUsage>,
}

/// A call, and where and when it was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedCall {
    /// Its conversation.
    pub key: ConversationKey,
    /// When the stream stored it.
    pub stored_at: Timestamp,
    /// The call.
    pub logged: LoggedCall,
}

/// Why a batch was not written. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LogsApplyError {
    /// Another projects the log now, or it is not where the batch begins: take it again.
    #[error("another projector has the log")]
    Fenced,
    /// The read model could not be written; on [`ReadModelError::Unavailable`] the same batch may be tried again.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// Writes a batch and moves the checkpoint on, in one transaction. A call that is there already, and one of a conversation
/// whose rows say that it is erased, is passed over.
///
/// # Errors
/// [`LogsApplyError`].
pub async fn apply(model: &ReadModel, batch: &LogBatch) -> Result<(), LogsApplyError> {
    let work = async |connection: &mut PgConnection| {
        move_on(connection, batch).await?;
        connection
            .execute(LOCK)
            .await
            .map_err(ReadModelError::from)?;
        for call in &batch.calls {
            let query = sqlx::query_with(include_str!("insert.sql"), arguments(call));
            let written = query.execute(&mut *connection).await;
            written.map_err(ReadModelError::from)?;
        }
        count_usage(connection, &batch.usage).await?;
        Ok(())
    };
    model.transaction(Durability::Repeatable, work).await
}

/// Removes the calls of conversations that are being erased, in a transaction that leaves their tombstones: none that is
/// written at this moment outlives them.
///
/// # Errors
/// Postgres's.
pub(crate) async fn lock_out(
    connection: &mut PgConnection,
    erased: PgArguments,
) -> Result<(), sqlx::Error> {
    connection.execute(LOCK_OUT).await?;
    let query = sqlx::query_with(include_str!("erase.sql"), erased);
    query.execute(connection).await.map(drop)
}

async fn move_on(connection: &mut PgConnection, batch: &LogBatch) -> Result<(), LogsApplyError> {
    let sql = "UPDATE hansard.provider_log_checkpoint SET sequence = $3 WHERE holder = $1 AND sequence = $2";
    let query = sqlx::query(sql)
        .bind(batch.holder.0.as_str())
        .bind(signed(batch.previous.0))
        .bind(signed(batch.last.0));
    let moved = query.execute(connection).await;
    match moved.map_err(ReadModelError::from)?.rows_affected() {
        0 => Err(LogsApplyError::Fenced),
        _ => Ok(()),
    }
}

/// The arguments of `insert.sql`.
fn arguments(placed: &PlacedCall) -> PgArguments {
    let PlacedCall {
        key,
        stored_at,
        logged,
    } = placed;
    let call = &logged.call;
    let kept_for = i64::try_from(logged.kept_for().as_nanos()).unwrap_or(i64::MAX);
    let kept_until = Timestamp(stored_at.0.saturating_add(kept_for));
    let tokens = |count: fn(&domain::event::Usage) -> u64| {
        let usage = call.usage.as_ref();
        usage.map(|usage| signed(count(usage)))
    };
    let purpose: i16 = match call.purpose {
        CallPurpose::Answer => ANSWER,
        CallPurpose::Summary => SUMMARY,
    };
    let label =
        |label: &Option<domain::Label>| label.as_ref().map(|label| label.as_str().to_owned());
    let arguments = bind(PgArguments::default(), Moment::of(call.started_at));
    let arguments = bind(arguments, Moment::of(kept_until));
    let arguments = bind(arguments, call.first_piece_ms.map(signed));
    let arguments = bind(arguments, signed(call.took_ms));
    let arguments = bind(arguments, signed(call.request_bytes));
    let arguments = bind(arguments, signed(call.reply_bytes));
    let arguments = bind(arguments, tokens(|usage| usage.input_tokens));
    let arguments = bind(arguments, tokens(|usage| usage.output_tokens));
    let arguments = bind(arguments, tokens(|usage| usage.cached_tokens));
    let arguments = bind(arguments, tokens(|usage| usage.reasoning_tokens));
    let arguments = bind(arguments, i64::from(call.attempt));
    let arguments = bind(bind(arguments, call.id.0), call.run.0);
    let arguments = bind(arguments, call.http_status.map(i32::from));
    let arguments = bind(arguments, purpose);
    let cut = |body: &Option<LoggedBody>| body.as_ref().map(|body| body.is_cut);
    let arguments = bind(bind(arguments, cut(&call.request)), cut(&call.reply));
    let arguments = bind(arguments, key.tenant.as_str());
    let arguments = bind(arguments, key.conversation.as_str());
    let arguments = bind(arguments, logged.agent.as_str());
    let arguments = bind(bind(arguments, call.server.as_str()), call.model.as_str());
    let arguments = bind(arguments, call.outcome.as_str());
    let arguments = bind(arguments, label(&call.finish_reason));
    let bytes =
        |body: &Option<LoggedBody>| body.as_ref().map(|body| body.text.clone().into_bytes());
    bind(bind(arguments, bytes(&call.request)), bytes(&call.reply))
}
