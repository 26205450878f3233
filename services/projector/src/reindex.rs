//! The background work of the search: documents are indexed again, agents in turn, after settings have changed or an operator has
//! requested it; and blocks whose documents were changed or erased get their filters again.

use std::time::Duration;

use backoff::Backoff;
use read_model::projections::search::{ReindexStep, ReindexTurn, fill_step, reindex_step};
use read_model::{ReadModel, ReadModelError};
use tokio::time::sleep;

/// Interval between looks for work.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// First and longest wait after a failed step.
const RETRY_WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// Runs until its task is aborted. Several projectors share the work.
pub(crate) async fn run(model: ReadModel) {
    let mut backoff = Backoff::new(RETRY_WAITS.0, RETRY_WAITS.1);
    let mut turn = ReindexTurn::default();
    loop {
        match step(&model, &mut turn).await {
            Ok(Work::Done) => {}
            Ok(Work::None) => sleep(POLL_INTERVAL).await,
            Err(error) => {
                tracing::warn!(%error, "a step of the search's background work failed; retrying");
                backoff.wait().await;
                continue;
            }
        }
        backoff = Backoff::new(RETRY_WAITS.0, RETRY_WAITS.1);
    }
}

/// Whether a step did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Done,
    None,
}

async fn step(model: &ReadModel, turn: &mut ReindexTurn) -> Result<Work, ReadModelError> {
    let filters = fill_step(model).await?;
    let reindexed = reindex_step(model, turn).await?;
    if reindexed == ReindexStep::Finished {
        tracing::info!("an agent is indexed again for the search");
    }
    if filters == 0 && reindexed == ReindexStep::Idle {
        return Ok(Work::None);
    }
    Ok(Work::Done)
}
