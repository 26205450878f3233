//! Indexes documents of the search again, agent by agent, after their settings have changed or an operator has requested it.

use std::time::Duration;

use read_model::ReadModel;
use read_model::projections::search::{ReindexStep, reindex_step};
use runtime::backoff::Backoff;
use tokio::time::sleep;

/// Interval between looks for agents that wait.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// First and longest wait after a failed step.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Runs until its task is aborted. Several projectors share the work.
pub(crate) async fn run(model: ReadModel) {
    let mut backoff = Backoff::new(RETRY_WAITS.0, RETRY_WAITS.1);
    loop {
        match reindex_step(&model).await {
            Ok(ReindexStep::Idle) => sleep(POLL_INTERVAL).await,
            Ok(ReindexStep::Advanced) => {}
            Ok(ReindexStep::Finished) => tracing::info!("an agent is indexed again for the search"),
            Err(error) => {
                tracing::warn!(%error, "a step of indexing again failed; retrying");
                backoff.wait().await;
                continue;
            }
        }
        backoff = Backoff::new(RETRY_WAITS.0, RETRY_WAITS.1);
    }
}
