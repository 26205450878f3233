//! Waits until the rows include a commit. Listings read only rows.

use std::time::Duration;

use domain::{Position, TenantId};
use history::{Deadline, FencedTables, WAIT_DEFAULT};
use read_model::projections::conversations::wait_until_reached;
use read_model::{ReadModel, ReadModelError};
use tokio::time::timeout;
use wire::status::Problem;

use crate::{Gateway, problem};

/// The longest wait for the rows.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(2);

/// Waits until the rows of a tenant in the primary include every commit that was recorded before this call; `false`: not within
/// [`CATCH_UP_MAX`].
///
/// # Errors
/// The record or the read model does not answer.
pub async fn reached(gateway: &Gateway, tenant: &TenantId) -> Result<bool, Problem> {
    let ends = Deadline::until(None).record(gateway.reader.record.ends()).await?;
    let model = gateway.reader.read_model.of(tenant);
    let reached = wait_until_reached(&model, &ends, CATCH_UP_MAX);
    in_time(CATCH_UP_MAX, reached).await
}

/// Rows of a tenant that include the positions. Waits for them at most as long as the gateway waits for a fence.
///
/// # Errors
/// `POSITION_NOT_REACHED`, or the read model does not answer.
pub async fn rows_at(gateway: &Gateway, tenant: &TenantId, positions: &[Position]) -> Result<ReadModel, Problem> {
    let reader = &gateway.reader;
    let read = reader.rows_at(tenant, positions, FencedTables::Conversations);
    let rows = in_time(reader.fence_wait, read).await?;
    rows.ok_or_else(problem::position_not_reached)
}

async fn in_time<T>(wait_max: Duration, answer: impl Future<Output = Result<T, ReadModelError>>) -> Result<T, Problem> {
    match timeout(wait_max + WAIT_DEFAULT, answer).await {
        Ok(answer) => answer.map_err(|error| problem::of_read_model(&error)),
        Err(_) => Err(problem::read_model_timed_out()),
    }
}
