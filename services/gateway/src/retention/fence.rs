//! Waits until the rows hold all that is recorded now.

use std::time::Duration;

use read_model::projections::conversations::wait_until_reached;

use super::{Means, RoundError};

/// Waits until the rows hold what the record holds now.
///
/// # Errors
/// [`RoundError::RowsBehind`] after `wait_max`; or record or rows cannot be looked at.
pub(super) async fn wait(means: &Means, wait_max: Duration) -> Result<(), RoundError> {
    let ends = means.record.ends().await?;
    if wait_until_reached(&means.read_model, &ends, wait_max).await? {
        return Ok(());
    }
    Err(RoundError::RowsBehind)
}
