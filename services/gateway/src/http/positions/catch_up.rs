//! Waits until the rows include a commit. Listings read only rows.

use std::time::Duration;

use domain::Position;
use read_model::projections::conversations::wait_until_reached;
use tokio::time::timeout;
use wire::status::Problem;

use crate::Gateway;
use history::{Deadline, WAIT_DEFAULT};

/// The longest wait for the rows.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(2);

/// Waits until the rows include every commit that was recorded before this call; `false`: not within [`CATCH_UP_MAX`].
///
/// # Errors
/// The record or the read model does not answer.
pub async fn reached(gateway: &Gateway) -> Result<bool, Problem> {
    let ends = Deadline::until(None)
        .record(gateway.reader.record.ends())
        .await?;
    wait(gateway, &ends, CATCH_UP_MAX).await
}

/// Waits until the rows include the positions, at most as long as the gateway waits for a fence.
///
/// # Errors
/// `POSITION_NOT_REACHED`, or the read model does not answer.
pub async fn hold(gateway: &Gateway, positions: &[Position]) -> Result<(), Problem> {
    if positions.is_empty() || wait(gateway, positions, gateway.reader.fence_wait).await? {
        return Ok(());
    }
    Err(crate::problem::position_not_reached())
}

/// Waits until the rows include the positions; `false`: not in time.
async fn wait(
    gateway: &Gateway,
    positions: &[Position],
    wait_max: Duration,
) -> Result<bool, Problem> {
    let reached = wait_until_reached(&gateway.reader.read_model, positions, wait_max);
    match timeout(wait_max + WAIT_DEFAULT, reached).await {
        Ok(reached) => reached.map_err(|error| crate::problem::of_read_model(&error)),
        Err(_) => Err(crate::problem::read_model_timed_out()),
    }
}
