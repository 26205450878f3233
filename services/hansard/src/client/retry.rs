//! Retries of calls that failed with a transient error.

use std::future::Future;
use std::time::Duration;

use backoff::exponential;
use backon::Retryable as _;
use tokio::time::Instant;

use super::Failure;

/// The time after which a call is no longer retried.
const RETRY_DEADLINE: Duration = Duration::from_secs(30);
/// The first wait, unless the service suggests one.
const WAIT_MIN: Duration = Duration::from_millis(50);
/// The longest wait between two attempts.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Repeats an idempotent call until it succeeds, fails permanently or 30 s have passed.
///
/// # Errors
/// The last failure.
pub async fn retrying<T, F>(call: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    retrying_for(RETRY_DEADLINE, call).await
}

async fn retrying_for<T, F>(total: Duration, call: impl FnMut() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let deadline = Instant::now() + total;
    call.retry(exponential(WAIT_MIN, WAIT_MAX))
        .when(Failure::is_transient)
        .adjust(|failure, own_wait| {
            let own_wait = own_wait?;
            // The service's suggestion is the minimum; jitter on top spreads callers that failed together.
            let wait = failure.retry_after.map_or(own_wait, |suggested| suggested.min(WAIT_MAX) + own_wait / 2);
            (Instant::now() + wait < deadline).then_some(wait)
        })
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tonic::{Code, Status};

    use super::*;

    const DEADLINE_IN_TESTS: Duration = Duration::from_millis(400);
    /// The resolution of tokio's timers.
    const CLOCK_TOLERANCE: Duration = Duration::from_millis(1);

    async fn check(failures: u32, code: Code, expected: Result<u32, Code>) {
        let attempts = AtomicU32::new(0);
        let outcome = retrying_for(DEADLINE_IN_TESTS, || async {
            match attempts.fetch_add(1, Ordering::Relaxed) {
                before if before < failures => Err(Status::new(code, "x").into()),
                before => Ok(before),
            }
        });
        assert_eq!(outcome.await.map_err(|failure| failure.code), expected);
    }

    /// The paused clock advances when all tasks are idle.
    #[tokio::test(start_paused = true)]
    async fn only_transient_failures_are_retried() {
        check(0, Code::Unavailable, Ok(0)).await;
        check(2, Code::Unavailable, Ok(2)).await;
        check(1, Code::NotFound, Err(Code::NotFound)).await;
        let started = Instant::now();
        check(u32::MAX, Code::Unavailable, Err(Code::Unavailable)).await;
        assert!(started.elapsed() <= DEADLINE_IN_TESTS + CLOCK_TOLERANCE, "{:?}", started.elapsed());
    }
}
