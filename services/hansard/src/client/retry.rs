//! Trying again what may succeed later.

use std::future::Future;
use std::time::Duration;

use backon::Retryable as _;
use runtime::backoff::exponential;
use tokio::time::Instant;

use super::Failure;

/// How long a call is tried again before its failure is told.
pub const PATIENCE: Duration = Duration::from_secs(30);
/// The first wait when the service names none.
const WAIT_MIN: Duration = Duration::from_millis(50);
/// The longest wait between two tries.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Calls until it succeeds, fails for good, or [`PATIENCE`] is over. The call must be one that may be repeated.
///
/// # Errors
/// The last failure.
pub async fn retrying<T, F>(call: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    retrying_for(PATIENCE, call).await
}

async fn retrying_for<T, F>(patience: Duration, call: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let deadline = Instant::now() + patience;
    call.retry(exponential(WAIT_MIN, WAIT_MAX))
        .when(Failure::is_transient)
        .adjust(|failure, own_wait| {
            let own_wait = own_wait?;
            // The service's wait is the least: jitter on top keeps callers that failed together apart.
            let wait = failure
                .retry_after
                .map_or(own_wait, |told| told.min(WAIT_MAX) + own_wait / 2);
            (Instant::now() + wait < deadline).then_some(wait)
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tonic::{Code, Status};

    use super::*;

    const PATIENCE_IN_TESTS: Duration = Duration::from_millis(400);

    async fn check(failures: u32, code: Code, expected: Result<u32, Code>) {
        let tries = AtomicU32::new(0);
        let outcome = retrying_for(PATIENCE_IN_TESTS, || async {
            match tries.fetch_add(1, Ordering::Relaxed) {
                before if before < failures => Err(Status::new(code, "x").into()),
                before => Ok(before),
            }
        });
        assert_eq!(outcome.await.map_err(|failure| failure.code), expected);
    }

    #[tokio::test]
    async fn what_may_pass_is_tried_again_and_the_rest_is_not() {
        check(0, Code::Unavailable, Ok(0)).await;
        check(2, Code::Unavailable, Ok(2)).await;
        check(1, Code::NotFound, Err(Code::NotFound)).await;
        let started = Instant::now();
        check(u32::MAX, Code::Unavailable, Err(Code::Unavailable)).await;
        assert!(
            started.elapsed() <= PATIENCE_IN_TESTS,
            "{:?}",
            started.elapsed()
        );
    }
}
