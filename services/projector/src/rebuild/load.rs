//! Filling a schema in bulk: partition by partition, a chunk and its checkpoint in one transaction, so that a load that was
//! stopped anywhere goes on from there.

use std::sync::Arc;
use std::time::Duration;

use archive::{Archive, ArchiveError};
use backon::Retryable as _;
use domain::{Partition, Sequence};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use read_model::projections::conversations::lease::{
    self, Checkpoint, Holder, LEASE_TTL_MS, Lease,
};
use read_model::projections::conversations::{ApplyError, Batch, copy};
use read_model::{ReadModel, ReadModelError};
use runtime::backoff::exponential;
use runtime::rate_limiter::RateLimiter;
use runtime::shutdown::Shutdown;
use thiserror::Error;
use tokio::sync::mpsc;

use super::chunk::{Chunk, Stretch, read_chunks};

/// Partitions that are loaded at a time: one is read while another is written.
pub const LANES: usize = 2;
/// The waits after a transaction that was lost: first and longest.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(1));
/// How often a chunk is tried again: for about half a minute.
const RETRIES_MAX: usize = 29;

/// Why a load ended before its end. What is loaded stays, and the next load goes on from there.
#[derive(Debug, Error)]
pub enum LoadError {
    /// It was asked to stop.
    #[error("stopped: the next run goes on from here")]
    Stopped,
    /// Another load has begun, or the database lost its last transactions in a crash: begin again.
    #[error("partition {0} is not where it was left: the next run goes on from where it is")]
    Overtaken(Partition),
    /// Archived commits cannot be read: what was loaded of the partition ends before them.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The rows cannot be written.
    #[error(transparent)]
    ReadModel(#[from] ReadModelError),
    /// A task broke.
    #[error("a partition's task ended by itself")]
    Broken,
}

/// Loads each partition up to its place in `ends`, or as far as messages go, with no more rows of events a second than the
/// pace allows. Only one process may do so: see [`read_model::schemas::SchemasLock`].
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
    let held = lease::seize(model, &holder, LEASE_TTL_MS).await?;
    let end_of = |checkpoint: &Checkpoint| {
        let of_partition = |end: &&(Partition, Sequence)| end.0 == checkpoint.lease.partition;
        ends.iter().find(of_partition).map(|(_, end)| *end)
    };
    let stretches = held.iter().filter_map(|checkpoint| {
        let end = end_of(checkpoint).filter(|end| *end > checkpoint.sequence)?;
        Some((*checkpoint, end))
    });
    let lanes = stream::iter(stretches.collect::<Vec<_>>()).map(|(from, end)| {
        let (archive, model) = (archive.clone(), model.clone());
        let (pace, shutdown) = (Arc::clone(&pace), shutdown.clone());
        let task = tokio::spawn(load_partition(archive, model, from, end, pace, shutdown));
        async move { task.await.unwrap_or(Err(LoadError::Broken)) }
    });
    lanes
        .buffer_unordered(LANES)
        .try_collect::<Vec<()>>()
        .await?;
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
    let stretch = Stretch {
        partition: from.lease.partition,
        after: from.sequence,
        end,
    };
    let (chunks, mut received) = mpsc::channel(1);
    tokio::spawn(read_chunks(archive, stretch, chunks));
    let mut written = from.sequence;
    while let Some(chunk) = received.recv().await {
        let chunk = chunk?;
        tokio::select! {
            biased;
            () = shutdown.begun() => return Err(LoadError::Stopped),
            () = pace.wait(chunk.rows()) => {}
        }
        let batch = batch_of(from.lease, written, chunk);
        write(&model, &batch).await?;
        written = batch.last;
    }
    Ok(())
}

fn batch_of(lease: Lease, previous: Sequence, chunk: Chunk) -> Batch {
    Batch {
        lease,
        previous,
        last: chunk.last,
        items: chunk.items,
    }
}

async fn write(model: &ReadModel, batch: &Batch) -> Result<(), LoadError> {
    let written = (|| copy(model, std::slice::from_ref(batch)))
        .retry(exponential(RETRY_WAITS.0, RETRY_WAITS.1).with_max_times(RETRIES_MAX))
        .when(|error| matches!(error, ApplyError::ReadModel(error) if error.is_unavailable()))
        .notify(|error, _| tracing::warn!(%error, "a chunk could not be written, trying again"));
    match written.await {
        Ok(_) => Ok(()),
        Err(ApplyError::Fenced(present)) => {
            let is_done = |one: &Checkpoint| one.lease == batch.lease && one.sequence == batch.last;
            // It was written although its answer was lost.
            if present.iter().any(is_done) {
                return Ok(());
            }
            Err(LoadError::Overtaken(batch.lease.partition))
        }
        Err(ApplyError::ReadModel(error)) => Err(error.into()),
    }
}
