//! Whether the rows hold all that was recorded before: listings read the rows alone.

use std::time::Duration;

use domain::{Partition, Position, Sequence};
use futures::future::try_join_all;
use read_model::projections::conversations::lease::checkpoints;
use tokio::time::{Instant, sleep};
use wire::status::Problem;

use crate::Gateway;
use crate::patience::Patience;

/// The longest wait for the rows.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(2);
/// How often the projector's place is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Waits until the rows hold every commit that was recorded before this call; `false`: not within [`CATCH_UP_MAX`].
///
/// # Errors
/// The record or the read model does not answer.
pub async fn reached(gateway: &Gateway) -> Result<bool, Problem> {
    let patience = Patience::until(None);
    let partitions = (0..gateway.record.partitions()).map(Partition);
    let bounds = partitions.map(|partition| gateway.record.bounds_of(partition));
    let bounds = patience.record(try_join_all(bounds)).await?;
    let partitions = (0..gateway.record.partitions()).map(Partition);
    let lasts = partitions.zip(bounds).map(|(partition, bounds)| Position {
        partition,
        sequence: bounds.last,
    });
    wait(gateway, &lasts.collect::<Vec<_>>(), CATCH_UP_MAX).await
}

/// Waits until the rows hold positions, for the gateway's bound of a fence.
///
/// # Errors
/// `POSITION_NOT_REACHED`, or the read model does not answer.
pub async fn hold(gateway: &Gateway, positions: &[Position]) -> Result<(), Problem> {
    if positions.is_empty() || wait(gateway, positions, gateway.fence_wait).await? {
        return Ok(());
    }
    Err(crate::problem::position_not_reached())
}

/// Waits until the rows hold positions; `false`: not in time.
async fn wait(
    gateway: &Gateway,
    positions: &[Position],
    wait_max: Duration,
) -> Result<bool, Problem> {
    let patience = Patience::until(None);
    let deadline = Instant::now() + wait_max;
    loop {
        if has(gateway, patience, positions).await? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn has(
    gateway: &Gateway,
    patience: Patience,
    positions: &[Position],
) -> Result<bool, Problem> {
    let held = patience.rows(checkpoints(&gateway.read_model)).await?;
    let is_held = |position: &Position| {
        position.sequence == Sequence(0)
            || held.iter().any(|checkpoint| {
                checkpoint.lease.partition == position.partition
                    && checkpoint.sequence >= position.sequence
            })
    };
    Ok(positions.iter().all(is_held))
}
