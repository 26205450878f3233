//! Projects partitions up to an exact sequence, under leases of all partitions.

use std::pin::pin;
use std::time::Duration;

use archive::{Archive, ArchiveError, FollowError};
use domain::{Partition, Sequence};
use futures::StreamExt as _;
use futures::future::try_join_all;
use read_model::ReadModel;
use read_model::projections::conversations::lease::Checkpoint;
use read_model::projections::conversations::{ApplyError, Batch, Item, apply};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};
use wire::token::RecordId;

use super::end::is_end;
use crate::reader::item_of;

/// Number of messages per transaction.
const BATCH_MESSAGES: usize = 500;
/// Deadline: no projector writes meanwhile, and the leases expire soon after.
pub(super) const CATCH_UP_MAX: Duration = Duration::from_secs(4);

/// Why a partition did not reach its target. The rows written so far remain.
#[derive(Debug, Error)]
pub enum CatchUpError {
    /// It lagged too far behind, or the record did not answer.
    #[error("partition {0} did not catch up in time: run the command again")]
    Late(Partition),
    /// Missing commits are archived and cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The rows could not be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Projects the missing commits of the partitions up to `targets`, which are checkpoints of the other schema. Returns the new
/// checkpoints, in the same order.
///
/// # Errors
/// [`CatchUpError`].
pub(super) async fn catch_up(
    archive: &Archive,
    model: &ReadModel,
    held: &[Checkpoint],
    targets: &[Sequence],
) -> Result<Vec<Checkpoint>, CatchUpError> {
    let deadline = Instant::now() + CATCH_UP_MAX;
    let partitions = held.iter().zip(targets);
    let caught_up = partitions.map(|(from, to)| catch_up_partition(archive, model, *from, *to, deadline));
    try_join_all(caught_up).await
}

async fn catch_up_partition(
    archive: &Archive,
    model: &ReadModel,
    from: Checkpoint,
    to: Sequence,
    deadline: Instant,
) -> Result<Checkpoint, CatchUpError> {
    let (record, partition) = (archive.record().id(), from.lease.partition);
    let mut held = from;
    let mut items = Vec::new();
    if held.sequence >= to {
        return Ok(held);
    }
    if ends(archive, partition, held.sequence, to).await? {
        // All missing commits were erased.
        return write(record, model, held, to, Vec::new()).await;
    }
    let mut messages = pin!(archive.follow(partition, held.sequence));
    loop {
        let next = timeout_at(deadline, messages.next()).await;
        let message = match next {
            Ok(Some(Ok(message))) => message,
            Ok(Some(Err(FollowError::Record(_)))) => continue,
            Ok(Some(Err(FollowError::Archive(error)))) => return Err(error.into()),
            Ok(None) | Err(_) => return Err(CatchUpError::Late(partition)),
        };
        let sequence = message.message.position.sequence;
        if sequence <= to {
            items.extend(item_of(&message));
        }
        // The target itself may have been erased. Only the leader is reliable: the replica may lag.
        let is_end = sequence >= to || (message.pending == 0 && ends(archive, partition, sequence, to).await?);
        if is_end || items.len() >= BATCH_MESSAGES {
            let last = if is_end { to } else { sequence };
            held = write(record, model, held, last, std::mem::take(&mut items)).await?;
        }
        if is_end {
            return Ok(held);
        }
    }
}

/// Whether no message remains after `read`, according to the leader and the catalogue.
async fn ends(archive: &Archive, partition: Partition, read: Sequence, to: Sequence) -> Result<bool, CatchUpError> {
    let next = archive.next_after(partition, read).await.map_err(|_| CatchUpError::Late(partition))?;
    Ok(is_end(read, to, next))
}

/// Writes items and advances the checkpoint to `last`.
async fn write(
    record: RecordId,
    model: &ReadModel,
    mut held: Checkpoint,
    last: Sequence,
    items: Vec<Item>,
) -> Result<Checkpoint, CatchUpError> {
    let batch = Batch { record, lease: held.lease, previous: held.sequence, last, items };
    apply(model, std::slice::from_ref(&batch)).await?;
    held.sequence = last;
    Ok(held)
}
