//! Projects logged and metered calls to model servers from their stream into tables, and deletes expired ones.
//!
//! One task with one connection and small transactions, so that it does not slow the projection of the record. One of the
//! projectors runs it at a time. A message that cannot be projected is counted and skipped.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use archive::Archive;
use domain::{Sequence, Timestamp};
use event_log::{LoggedMessage, LoggedSubject, Unavailable};
use futures::StreamExt as _;
use read_model::projections::conversations::lease::Holder;
use read_model::projections::provider_logs::{
    EXPIRED_PER_CALL_MAX, LogBatch, LogsApplyError, StoredCall, StoredCorrection, StoredUsage,
    USAGE_EXPIRED_PER_CALL_MAX, apply, expire, expire_usage, restart, take,
};
use read_model::{ReadModel, ReadModelError};
use runtime::clock::Clock;
use runtime::every::every;
use runtime::failure_log::FailureLog;
use thiserror::Error;
use tokio::time::interval;

use crate::metrics;

/// TTL of the lease: another projector replaces a lost one after this time.
const LEASE_TTL_MS: u64 = 10_000;
/// Interval of lease renewals and of deletions of expired calls.
const INTERVAL: Duration = Duration::from_millis(2_500);
/// Maximum number of calls per transaction: an erasure waits for at most one transaction.
const BATCH_CALLS_MAX: usize = 16;

#[derive(Debug, Error)]
enum LogProjectionError {
    #[error(transparent)]
    Record(#[from] Unavailable),
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
}

/// Projects forever, whenever no other projector does.
pub(crate) async fn run(archive: Archive, model: ReadModel) -> Infallible {
    let clock = Clock::corrected(archive.record().clock_correction());
    let projection = LogProjection { holder: Holder(uuid::Uuid::now_v7().to_string()), archive, model, clock };
    let failures = FailureLog::default();
    let mut rounds = every(INTERVAL);
    loop {
        rounds.next().await;
        if let Err(error) = projection.project().await
            && let Some(unlogged) = failures.failed(Instant::now())
        {
            tracing::warn!(%error, unlogged, "the calls to model servers cannot be projected; retrying");
        }
    }
}

struct LogProjection {
    holder: Holder,
    /// Its tenants are those whose calls are projected.
    archive: Archive,
    model: ReadModel,
    /// What is old is expired by the time of the record's servers, which also stamp the calls.
    clock: Clock,
}

impl LogProjection {
    /// Projects until another projector holds the lease.
    async fn project(&self) -> Result<(), LogProjectionError> {
        let Some(sequence) = take(&self.model, &self.holder, LEASE_TTL_MS).await? else {
            return Ok(());
        };
        let bounds = self.archive.record().logs_bounds().await?;
        let mut at = match bounds {
            // The stream was replaced: the record was restored or created again.
            Some(bounds) if bounds.last < sequence => {
                tracing::warn!(last = %bounds.last, rows = %sequence, "the stream of logged calls ends before the rows; reading it from the start");
                restart(&self.model, &self.holder).await?;
                Sequence(0)
            }
            Some(_) => sequence,
            None => return self.expire_all().await,
        };
        let mut batches = self.archive.record().follow_logs(at).ready_chunks(BATCH_CALLS_MAX);
        let mut ticks = interval(INTERVAL);
        loop {
            tokio::select! {
                _ = ticks.tick() => {
                    self.expire_all().await?;
                    if take(&self.model, &self.holder, LEASE_TTL_MS).await?.is_none() {
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

    /// Writes messages and returns the checkpoint; `None`: another projector holds the lease.
    async fn write(&self, at: Sequence, messages: &[LoggedMessage]) -> Result<Option<Sequence>, LogProjectionError> {
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
                    tracing::warn!(sequence = %message.sequence, %error, "a logged call is skipped");
                    self.skip(at, message.sequence).await
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

    async fn apply(&self, previous: Sequence, messages: &[LoggedMessage]) -> Result<Sequence, LogsApplyError> {
        let Some(last) = messages.last() else {
            return Ok(previous);
        };
        let mut batch = self.batch(previous, last.sequence);
        let tenants = self.archive.tenants();
        for message in messages {
            if message.subject.tenant().is_none_or(|tenant| tenants.contains(tenant)) {
                add(&mut batch, message);
            }
        }
        apply(&self.model, &batch).await?;
        let count = |calls: usize| u64::try_from(calls).unwrap_or(u64::MAX);
        metrics::provider_logs("read", count(batch.calls.len()));
        metrics::provider_logs("metered", count(batch.usage.len()));
        metrics::provider_logs("corrected", count(batch.corrections.len()));
        Ok(batch.last)
    }

    async fn skip(&self, previous: Sequence, last: Sequence) -> Result<Sequence, LogsApplyError> {
        apply(&self.model, &self.batch(previous, last)).await?;
        Ok(last)
    }

    fn batch(&self, previous: Sequence, last: Sequence) -> LogBatch {
        let holder = self.holder.clone();
        LogBatch { holder, previous, last, calls: Vec::new(), usage: Vec::new(), corrections: Vec::new() }
    }

    async fn expire_all(&self) -> Result<(), LogProjectionError> {
        loop {
            let now = Timestamp(self.clock.now_nanos());
            let deleted = expire(&self.model, now).await?;
            metrics::provider_logs("expired", deleted);
            let usage = expire_usage(&self.model, now).await?;
            let is_last = deleted < u64::from(EXPIRED_PER_CALL_MAX) && usage < u64::from(USAGE_EXPIRED_PER_CALL_MAX);
            if is_last {
                return Ok(());
            }
        }
    }
}

fn written(outcome: Result<Sequence, LogsApplyError>) -> Result<Option<Sequence>, LogProjectionError> {
    match outcome {
        Ok(last) => Ok(Some(last)),
        Err(LogsApplyError::Fenced) => Ok(None),
        Err(LogsApplyError::ReadModel(error)) => Err(error.into()),
    }
}

fn add(batch: &mut LogBatch, message: &LoggedMessage) {
    let stored_at = message.stored_at;
    match &message.subject {
        LoggedSubject::Conversation(key) => {
            if let Ok(logged) = message.open() {
                let key = key.clone();
                batch.calls.push(StoredCall { key, stored_at, logged });
                return;
            }
        }
        LoggedSubject::Usage(tenant) => {
            if let Ok(call) = message.open_metered() {
                let tenant = tenant.clone();
                batch.usage.push(StoredUsage { tenant, stored_at, call });
                return;
            }
        }
        LoggedSubject::Correction(tenant) => {
            if let Ok(correction) = message.open_correction() {
                let tenant = tenant.clone();
                batch.corrections.push(StoredCorrection { tenant, correction });
                return;
            }
        }
        LoggedSubject::Unknown => {}
    }
    metrics::provider_logs("unreadable", 1);
    tracing::warn!(sequence = %message.sequence, "a message of the log contains no valid call and is skipped");
}
