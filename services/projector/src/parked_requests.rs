//! Carries out what operators requested for parked conversations at a gateway.

use std::time::{Duration, Instant};

use event_log::Record;
use read_model::ReadModel;
use read_model::projections::conversations::parking::{self, ParkedRequest};
use runtime::failure_log::FailureLog;
use tokio::time::sleep;

use crate::parked;

/// Interval between looks for requests.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Runs until its task is aborted. Several projectors share the work.
pub(crate) async fn run(record: Record, model: ReadModel) {
    let failures = FailureLog::default();
    loop {
        match parking::take_requests(&model).await {
            Ok(requests) => {
                for request in &requests {
                    execute(&record, &model, request).await;
                }
            }
            Err(error) => {
                if let Some(unlogged) = failures.failed(Instant::now()) {
                    tracing::warn!(%error, unlogged, "requests for parked conversations cannot be read; retrying");
                }
            }
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// A request that fails is not repeated: the conversation stays parked, and its operator sees it.
async fn execute(record: &Record, model: &ReadModel, request: &ParkedRequest) {
    let key = &request.key;
    let outcome = match request.dropped {
        Some(sequence) => parking::drop_commit(model, key, sequence)
            .await
            .map(|is_dropped| format!("dropped: {is_dropped}"))
            .map_err(|error| error.to_string()),
        None => parked::retry(record, model, key)
            .await
            .map(|outcome| format!("{outcome:?}"))
            .map_err(|error| error.to_string()),
    };
    let (tenant, conversation) = (key.tenant.as_str(), key.conversation.as_str());
    match outcome {
        Ok(outcome) => tracing::info!(
            tenant.id = tenant,
            conversation.id = conversation,
            outcome,
            "a request for a parked conversation is carried out"
        ),
        Err(error) => tracing::warn!(
            tenant.id = tenant,
            conversation.id = conversation,
            error,
            "a request for a parked conversation failed"
        ),
    }
}
