//! Whether the rows hold all that was recorded before: listings read the rows alone.

use std::time::Duration;

use domain::{Partition, Sequence};
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
    let deadline = Instant::now() + CATCH_UP_MAX;
    let partitions = (0..gateway.record.partitions()).map(Partition);
    let bounds = partitions.map(|partition| gateway.record.bounds_of(partition));
    let bounds = patience.record(try_join_all(bounds)).await?;
    let lasts: Vec<Sequence> = bounds.into_iter().map(|bounds| bounds.last).collect();
    loop {
        if has(gateway, patience, &lasts).await? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn has(gateway: &Gateway, patience: Patience, lasts: &[Sequence]) -> Result<bool, Problem> {
    let held = patience.rows(checkpoints(&gateway.read_model)).await?;
    let is_held = |(partition, last): (u16, &Sequence)| {
        *last == Sequence(0)
            || held.iter().any(|checkpoint| {
                checkpoint.lease.partition == Partition(partition) && checkpoint.sequence >= *last
            })
    };
    Ok((0..).zip(lasts).all(is_held))
}
