//! Fills a schema in bulk: per partition, a chunk and its checkpoint in one transaction, so that a stopped load can be resumed.

use std::sync::Arc;
use std::time::Duration;

use archive::{Archive, ArchiveError};
use backoff::exponential;
use backon::Retryable as _;
use domain::{Partition, Sequence};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use read_model::projections::conversations::lease::{self, Checkpoint, Holder, LEASE_TTL_MS, Lease};
use read_model::projections::conversations::{ApplyError, Batch, copy};
use read_model::{ReadModel, ReadModelError};
use runtime::rate_limiter::RateLimiter;
use runtime::shutdown::Shutdown;
use thiserror::Error;
use tokio::sync::mpsc;

use super::chunk::{ReadRange, read_chunks};

/// Number of partitions that are loaded concurrently: one is read while another is written.
pub const CONCURRENT_PARTITIONS: usize = 2;
/// First and longest wait after a failed transaction.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// Maximum number of retries of a chunk: about half a minute.
const RETRIES_MAX: usize = 29;

/// Why a load stopped. The loaded rows remain, and the next load continues from there.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It was stopped.
    #[error("stopped: run the command again to continue")]
    Stopped,
    /// Another load started, or the database lost its last transactions in a crash.
    #[error("the checkpoint of partition {0} changed: run the command again to continue from it")]
    Conflict(Partition),
    /// Archived commits cannot be read: the loaded part of the partition ends before them.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The rows cannot be written.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// A task panicked.
    #[error("the task of a partition panicked")]
    Broken,
}

/// Loads each partition up to its sequence in `ends`, or up to its last message, with at most the rows of events per second
/// that `pace` allows. Only one process may do so: see [`read_model::schemas::SchemasLock`].
///
/// # Errors
/// [`LoadError`].
pub async fn load(
    archive: &Archive,
    model: &ReadModel,
    ends: &[(Partition, Sequence)],
    pace: RateLimiter,
    shutdown: &Shutdown,
) -> Result<(), LoadError> {
    let pace = Arc::new(pace);
    lease::ensure(model, archive.record().partitions()).await?;
    let holder = Holder(format!("rebuild-{}", uuid::Uuid::now_v7()));
    let held = lease::take_all(model, &holder, LEASE_TTL_MS).await?;
    let partitions = held.iter().filter_map(|checkpoint| {
        let mut ends = ends.iter();
        let (_, end) = ends.find(|(partition, _)| *partition == checkpoint.lease.partition)?;
        (*end > checkpoint.sequence).then_some((*checkpoint, *end))
    });
    let loads = stream::iter(partitions.collect::<Vec<_>>()).map(|(from, end)| {
        let (archive, model) = (archive.clone(), model.clone());
        let (pace, shutdown) = (Arc::clone(&pace), shutdown.clone());
        let task = tokio::spawn(load_partition(archive, model, from, end, pace, shutdown));
        async move { task.await.unwrap_or(Err(LoadError::Broken)) }
    });
    loads.buffer_unordered(CONCURRENT_PARTITIONS).try_collect::<Vec<()>>().await?;
    let leases: Vec<Lease> = held.iter().map(|checkpoint| checkpoint.lease).collect();
    lease::release(model, &leases).await?;
    Ok(())
}

async fn load_partition(
    archive: Archive,
    model: ReadModel,
    from: Checkpoint,
    end: Sequence,
    pace: Arc<RateLimiter>,
    shutdown: Shutdown,
) -> Result<(), LoadError> {
    let range = ReadRange { partition: from.lease.partition, after: from.sequence, end };
    let (chunks, mut received) = mpsc::channel(1);
    let record = archive.record().id();
    tokio::spawn(read_chunks(archive, range, chunks));
    let mut written = from.sequence;
    while let Some(chunk) = received.recv().await {
        let chunk = chunk?;
        tokio::select! {
            biased;
            () = shutdown.begun() => return Err(LoadError::Stopped),
            () = pace.wait(chunk.rows()) => {}
        }
        let batch = Batch { record, lease: from.lease, previous: written, last: chunk.last, items: chunk.items };
        write(&model, &batch).await?;
        written = batch.last;
    }
    Ok(())
}

async fn write(model: &ReadModel, batch: &Batch) -> Result<(), LoadError> {
    let written = (|| copy(model, std::slice::from_ref(batch)))
        .retry(exponential(RETRY_WAITS.0, RETRY_WAITS.1).with_max_times(RETRIES_MAX))
        .when(|error| matches!(error, ApplyError::ReadModel(error) if error.is_unavailable()))
        .notify(|error, _| tracing::warn!(%error, "a chunk could not be written; retrying"));
    match written.await {
        Ok(_) => Ok(()),
        Err(ApplyError::Fenced(current)) => {
            let is_done = |one: &Checkpoint| one.lease == batch.lease && one.sequence == batch.last;
            // The chunk is written; only its answer was lost.
            if current.iter().any(is_done) {
                return Ok(());
            }
            Err(LoadError::Conflict(batch.lease.partition))
        }
        Err(ApplyError::ReadModel(error)) => Err(error.into()),
    }
}
