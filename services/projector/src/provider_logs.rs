//! Calls of model servers, logged and metered: from their stream to their tables, and out of those when their time is over.
//!
//! Beside the record's projection, and never in its way: one task, one connection, small transactions. One projector of all
//! does it at a time. A message that cannot be projected is counted and left out: nothing waits for it.

use std::convert::Infallible;
use std::time::Duration;

use domain::{Sequence, Timestamp};
use event_log::{LoggedMessage, LoggedSubject, Record, Unavailable};
use futures::StreamExt as _;
use read_model::projections::conversations::lease::Holder;
use read_model::projections::provider_logs::{
    EXPIRED_PER_CALL_MAX, LogBatch, LogsApplyError, PlacedCall, PlacedUsage,
    USAGE_EXPIRED_PER_CALL_MAX, apply, expire, expire_usage, restart, take,
};
use read_model::{ReadModel, ReadModelError};
use runtime::clock::Clock;
use thiserror::Error;
use tokio::time::{interval, sleep};

use crate::metrics;

/// For how long the projection is taken; another projector goes on so long after this one is lost.
const HOLD_MS: u64 = 10_000;
/// How often it is held on, and calls whose time is over are looked for.
const TICK: Duration = Duration::from_millis(2_500);
/// Most calls of one transaction: an erasure waits for one at most.
const BATCH_CALLS_MAX: usize = 16;

/// Why a turn ended.
#[derive(Debug, Error)]
enum TurnError {
    /// The stream cannot be looked at.
    #[error(transparent)]
    Record(#[from] Unavailable),
    /// The rows cannot be written.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// Projects whenever no other projector does, for ever.
pub(crate) async fn keep(record: Record, model: ReadModel) -> Infallible {
    let logs = Logs {
        holder: Holder(uuid::Uuid::now_v7().to_string()),
        record,
        model,
    };
    loop {
        if let Err(error) = logs.turn().await {
            tracing::warn!(%error, "the log of model servers' calls is not projected, trying again");
        }
        sleep(TICK).await;
    }
}

struct Logs {
    holder: Holder,
    record: Record,
    model: ReadModel,
}

impl Logs {
    /// Projects until another projector has it.
    async fn turn(&self) -> Result<(), TurnError> {
        let Some(sequence) = take(&self.model, &self.holder, HOLD_MS).await? else {
            return Ok(());
        };
        let bounds = self.record.logs_bounds().await?;
        let mut at = match bounds {
            // Another stream than the rows were made from: that of a record that was restored, or made anew.
            Some(bounds) if bounds.last < sequence => {
                tracing::warn!(last = %bounds.last, rows = %sequence, "the stream of logged calls is behind its rows: reading all of it");
                restart(&self.model, &self.holder).await?;
                Sequence(0)
            }
            Some(_) => sequence,
            None => return self.remove_old().await,
        };
        let mut batches = self.record.follow_logs(at).ready_chunks(BATCH_CALLS_MAX);
        let mut ticks = interval(TICK);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.remove_old().await?;
                    if take(&self.model, &self.holder, HOLD_MS).await?.is_none() {
                        return Ok(());
                    }
                }
                batch = batches.next() => {
                    let messages: Result<Vec<LoggedMessage>, Unavailable> =
                        batch.into_iter().flatten().collect();
                    match self.write(at, &messages?).await? {
                        Some(last) => at = last,
                        None => return Ok(()),
                    }
                }
            }
        }
    }

    /// Writes messages; up to where the rows go then. `None`: another projector has it.
    async fn write(
        &self,
        at: Sequence,
        messages: &[LoggedMessage],
    ) -> Result<Option<Sequence>, TurnError> {
        match self.apply(at, messages).await {
            Err(LogsApplyError::ReadModel(error)) if !error.is_unavailable() => {}
            outcome => return written(outcome),
        }
        let mut at = at;
        for message in messages {
            let alone = std::slice::from_ref(message);
            let outcome = match self.apply(at, alone).await {
                Err(LogsApplyError::ReadModel(error)) if !error.is_unavailable() => {
                    metrics::provider_logs("refused", 1);
                    tracing::warn!(sequence = %message.sequence, %error, "a logged call is left out");
                    self.pass_over(at, message.sequence).await
                }
                outcome => outcome,
            };
            match written(outcome)? {
                Some(last) => at = last,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    async fn apply(
        &self,
        previous: Sequence,
        messages: &[LoggedMessage],
    ) -> Result<Sequence, LogsApplyError> {
        let Some(last) = messages.last() else {
            return Ok(previous);
        };
        let mut batch = self.batch(previous, last.sequence);
        for message in messages {
            add(&mut batch, message);
        }
        apply(&self.model, &batch).await?;
        let count = |calls: usize| u64::try_from(calls).unwrap_or(u64::MAX);
        metrics::provider_logs("read", count(batch.calls.len()));
        metrics::provider_logs("metered", count(batch.usage.len()));
        Ok(batch.last)
    }

    async fn pass_over(
        &self,
        previous: Sequence,
        last: Sequence,
    ) -> Result<Sequence, LogsApplyError> {
        apply(&self.model, &self.batch(previous, last)).await?;
        Ok(last)
    }

    fn batch(&self, previous: Sequence, last: Sequence) -> LogBatch {
        LogBatch {
            holder: self.holder.clone(),
            previous,
            last,
            calls: Vec::new(),
            usage: Vec::new(),
        }
    }

    async fn remove_old(&self) -> Result<(), TurnError> {
        loop {
            let now = Timestamp(Clock::System.now_nanos());
            let gone = expire(&self.model, now).await?;
            metrics::provider_logs("expired", gone);
            let usage = expire_usage(&self.model, now).await?;
            let is_last = gone < u64::from(EXPIRED_PER_CALL_MAX)
                && usage < u64::from(USAGE_EXPIRED_PER_CALL_MAX);
            if is_last {
                return Ok(());
            }
        }
    }
}

fn written(outcome: Result<Sequence, LogsApplyError>) -> Result<Option<Sequence>, TurnError> {
    match outcome {
        Ok(last) => Ok(Some(last)),
        Err(LogsApplyError::Fenced) => Ok(None),
        Err(LogsApplyError::ReadModel(error)) => Err(error.into()),
    }
}

/// Adds what there is to write of a message.
fn add(batch: &mut LogBatch, message: &LoggedMessage) {
    let stored_at = message.stored_at;
    match &message.subject {
        LoggedSubject::Conversation(key) => {
            if let Ok(logged) = message.open() {
                let key = key.clone();
                batch.calls.push(PlacedCall {
                    key,
                    stored_at,
                    logged,
                });
                return;
            }
        }
        LoggedSubject::Usage(tenant) => {
            if let Ok(call) = message.open_metered() {
                let tenant = tenant.clone();
                batch.usage.push(PlacedUsage {
                    tenant,
                    stored_at,
                    call,
                });
                return;
            }
        }
        LoggedSubject::Unknown => {}
    }
    metrics::provider_logs("unreadable", 1);
    tracing::warn!(sequence = %message.sequence, "a message of the log holds no call, and is left out");
}
