//! Bringing seized partitions to an exact place.

use std::pin::pin;
use std::time::Duration;

use archive::{Archive, ArchiveError, FollowError};
use domain::{Partition, Sequence};
use event_log::Record;
use futures::StreamExt as _;
use futures::future::try_join_all;
use read_model::ReadModel;
use read_model::projections::conversations::lease::Checkpoint;
use read_model::projections::conversations::{ApplyError, Batch, apply};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use super::end::is_end;
use crate::reader::item_of;

/// Messages of one transaction.
const BATCH_MESSAGES: usize = 500;
/// How long it may take: nobody projects meanwhile, and the leases hold little longer.
pub(super) const CATCH_UP_MAX: Duration = Duration::from_secs(4);

/// Why a partition was not brought to its place. What was projected stays.
#[derive(Debug, Error)]
pub enum CatchUpError {
    /// It was too far behind, or the record did not answer.
    #[error("partition {0} could not be brought up to date in time")]
    Late(Partition),
    /// Commits that it lacks are archived, and cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The rows could not be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// Projects what the partitions lack up to their places in `targets`, which are sequences that were projected elsewhere; where
/// they stand then, in the same order.
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
    let brought = partitions.map(|(from, to)| bring(archive, model, *from, *to, deadline));
    try_join_all(brought).await
}

async fn bring(
    archive: &Archive,
    model: &ReadModel,
    from: Checkpoint,
    to: Sequence,
    deadline: Instant,
) -> Result<Checkpoint, CatchUpError> {
    let partition = from.lease.partition;
    let mut held = from;
    let mut items = Vec::new();
    if held.sequence >= to {
        return Ok(held);
    }
    let record = archive.record();
    if ends(record, partition, held.sequence, to).await? {
        // All of it was erased since.
        return settle(model, held, to).await;
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
        // The target itself may have been erased since. The leader knows; the replica that is read may be behind.
        let is_end = sequence >= to
            || (message.pending == 0 && ends(record, partition, sequence, to).await?);
        if is_end || items.len() >= BATCH_MESSAGES {
            let batch = Batch {
                lease: held.lease,
                previous: held.sequence,
                last: if is_end { to } else { sequence },
                items: std::mem::take(&mut items),
            };
            apply(model, std::slice::from_ref(&batch)).await?;
            held.sequence = batch.last;
        }
        if is_end {
            return Ok(held);
        }
    }
}

/// Whether nothing is left to read behind what was read, as the leader says.
async fn ends(
    record: &Record,
    partition: Partition,
    read: Sequence,
    to: Sequence,
) -> Result<bool, CatchUpError> {
    let next = record.next_after(partition, read).await;
    let next = next.map_err(|_| CatchUpError::Late(partition))?;
    Ok(is_end(read, to, next.map(|next| next.sequence)))
}

/// Moves a checkpoint over sequences that hold nothing.
async fn settle(
    model: &ReadModel,
    mut held: Checkpoint,
    to: Sequence,
) -> Result<Checkpoint, CatchUpError> {
    let batch = Batch {
        lease: held.lease,
        previous: held.sequence,
        last: to,
        items: Vec::new(),
    };
    apply(model, std::slice::from_ref(&batch)).await?;
    held.sequence = to;
    Ok(held)
}
