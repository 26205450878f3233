//! Decides whether a request is retried, and after which wait.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::error::ModelError;

/// The wait that errors report to callers if the server sends none, in ms.
pub const RETRY_AFTER_MS_DEFAULT: u64 = 1_000;
/// Maximum `Retry-After` that is waited within a request, in ms. With a longer one the request fails.
pub const RETRY_AFTER_MS_MAX: u64 = 10_000;
/// Maximum wait between two attempts if the server sends no `Retry-After`, in ms.
pub const RETRY_WAIT_MS_MAX: u64 = 4_000;
/// The first backoff before jitter, in ms; also the maximum jitter of a `Retry-After`.
const RETRY_WAIT_MS_BASE: u64 = 250;
/// Maximum wait that errors report, in ms: a day.
const REPORTED_MS_MAX: u64 = 86_400_000;
/// The header of OpenAI's servers in ms, in addition to the standard header.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// The wait that the server requests, in ms. Dates are ignored.
pub(crate) fn retry_after_ms(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse().ok();
    let seconds = || number(RETRY_AFTER.as_str()).map(|seconds: u64| seconds.saturating_mul(1_000));
    let ms = number(RETRY_AFTER_MS).or_else(seconds)?;
    Some(ms.min(REPORTED_MS_MAX))
}

/// The wait before the next attempt, after `attempts` failed attempts; `None` if the request is not retried.
pub(crate) fn wait(error: &ModelError, retry_after_ms: Option<u64>, attempts: u32) -> Option<Duration> {
    // After all other errors a retry fails too, or a piece of the reply was received.
    let (ModelError::Unavailable { .. } | ModelError::Overloaded { .. }) = error else {
        return None;
    };
    let wait_ms = match retry_after_ms {
        Some(ms) if ms > RETRY_AFTER_MS_MAX => return None,
        Some(ms) => ms + rand::random_range(0..=RETRY_WAIT_MS_BASE),
        None => {
            let (base, cap) = (Duration::from_millis(RETRY_WAIT_MS_BASE), Duration::from_millis(RETRY_WAIT_MS_MAX));
            return Some(backoff::delay(attempts.saturating_sub(1), base, cap));
        }
    };
    Some(Duration::from_millis(wait_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNAVAILABLE: ModelError = ModelError::Unavailable { retry_after_ms: 1 };

    fn check(retry_after_ms: Option<u64>, attempts: u32, expected_ms: Option<(u64, u64)>) {
        for _ in 0..50 {
            let wait = wait(&UNAVAILABLE, retry_after_ms, attempts).map(|wait| wait.as_millis());
            let range = expected_ms.map(|(least, most)| u128::from(least)..=u128::from(most));
            let fits = match (wait, &range) {
                (Some(wait), Some(range)) => range.contains(&wait),
                (wait, range) => wait.is_none() && range.is_none(),
            };
            assert!(fits, "{retry_after_ms:?}, {attempts}: {wait:?}, expected {range:?}");
        }
    }

    #[test]
    fn waits_grow_and_follow_the_server() {
        check(None, 1, Some((125, 250)));
        check(None, 2, Some((250, 500)));
        check(None, 5, Some((2_000, 4_000)));
        check(None, u32::MAX, Some((2_000, RETRY_WAIT_MS_MAX)));
        check(Some(0), 1, Some((0, 250)));
        check(Some(RETRY_AFTER_MS_MAX), 1, Some((10_000, 10_250)));
        check(Some(RETRY_AFTER_MS_MAX + 1), 1, None);
    }

    #[test]
    fn only_retryable_errors_are_retried() {
        assert_eq!(wait(&ModelError::Broken, None, 1), None);
        let overloaded = ModelError::Overloaded { retry_after_ms: 1 };
        assert!(wait(&overloaded, None, 1).is_some());
    }

    #[test]
    fn headers_are_parsed() {
        let check = |pairs: &[(&'static str, &str)], expected: Option<u64>| {
            let pairs = pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            assert_eq!(retry_after_ms(&pairs.collect()), expected);
        };
        check(&[], None);
        check(&[("retry-after", "3")], Some(3_000));
        check(&[("retry-after", " 0 ")], Some(0));
        check(&[("retry-after", "3"), ("retry-after-ms", "40")], Some(40));
        check(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], None);
        check(&[("retry-after", "-1")], None);
        let max = "18446744073709551615";
        check(&[("retry-after", max)], Some(REPORTED_MS_MAX));
    }
}
