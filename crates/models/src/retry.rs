//! When a request is tried again, and how long that waits.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use crate::error::ModelError;

/// What callers are told to wait where the server says nothing, in ms.
pub const RETRY_AFTER_MS_DEFAULT: u64 = 1_000;
/// Longest `Retry-After` that is waited for within a request, in ms; one that asks for more is handed on to the caller.
pub const RETRY_AFTER_MS_MAX: u64 = 10_000;
/// Longest wait between two attempts where the server says nothing, in ms.
pub const RETRY_WAIT_MS_MAX: u64 = 4_000;
/// The first of those waits, before it is jittered, in ms; also how far a told wait is spread.
const RETRY_WAIT_MS_BASE: u64 = 250;
/// Longest wait that is handed on, in ms: a day.
const TOLD_MS_MAX: u64 = 86_400_000;
/// What OpenAI's servers say beside the standard's header, in ms.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// How long the server asks to wait, in ms. A date is passed over: the wait is then our own.
pub(crate) fn told(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse().ok();
    let seconds = || number(RETRY_AFTER.as_str()).map(|seconds: u64| seconds.saturating_mul(1_000));
    let told = number(RETRY_AFTER_MS).or_else(seconds)?;
    Some(told.min(TOLD_MS_MAX))
}

/// How long to wait before the next attempt after `attempts` in vain (the first is 1); none: there is none.
pub(crate) fn wait(error: &ModelError, told: Option<u64>, attempts: u32) -> Option<Duration> {
    if !is_passing(error) {
        return None;
    }
    let wait_ms = match told {
        Some(told) if told > RETRY_AFTER_MS_MAX => return None,
        Some(told) => told + rand::random_range(0..=RETRY_WAIT_MS_BASE),
        None => {
            let factor = 2_u64.checked_pow(attempts.saturating_sub(1));
            let most = RETRY_WAIT_MS_BASE
                .saturating_mul(factor.unwrap_or(u64::MAX))
                .min(RETRY_WAIT_MS_MAX);
            rand::random_range(most / 2..=most)
        }
    };
    Some(Duration::from_millis(wait_ms))
}

/// Whether the failure may pass by itself, and nothing of the reply was lost to it.
fn is_passing(error: &ModelError) -> bool {
    match error {
        ModelError::Unavailable { .. } | ModelError::Overloaded { .. } => true,
        ModelError::UnknownServer
        | ModelError::Unusable { .. }
        | ModelError::BreakerOpen { .. }
        | ModelError::Refused { .. }
        | ModelError::TimedOut { .. }
        | ModelError::Broken
        | ModelError::Failed { .. }
        | ModelError::TooLarge { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNAVAILABLE: ModelError = ModelError::Unavailable { retry_after_ms: 1 };

    fn check(told: Option<u64>, attempts: u32, expected_ms: Option<(u64, u64)>) {
        for _ in 0..50 {
            let wait = wait(&UNAVAILABLE, told, attempts).map(|wait| wait.as_millis());
            let range = expected_ms.map(|(least, most)| u128::from(least)..=u128::from(most));
            let fits = match (wait, &range) {
                (Some(wait), Some(range)) => range.contains(&wait),
                (wait, range) => wait.is_none() && range.is_none(),
            };
            assert!(fits, "{told:?}, {attempts}: {wait:?}, expected {range:?}");
        }
    }

    #[test]
    fn waits_grow_and_do_what_the_server_says() {
        check(None, 1, Some((125, 250)));
        check(None, 2, Some((250, 500)));
        check(None, 5, Some((2_000, 4_000)));
        check(None, u32::MAX, Some((2_000, RETRY_WAIT_MS_MAX)));
        check(Some(0), 1, Some((0, 250)));
        check(Some(RETRY_AFTER_MS_MAX), 1, Some((10_000, 10_250)));
        check(Some(RETRY_AFTER_MS_MAX + 1), 1, None);
    }

    #[test]
    fn what_does_not_pass_is_not_tried_again() {
        assert_eq!(wait(&ModelError::Broken, None, 1), None);
        let overloaded = ModelError::Overloaded { retry_after_ms: 1 };
        assert!(wait(&overloaded, None, 1).is_some());
    }

    #[test]
    fn headers_are_read() {
        let check = |pairs: &[(&'static str, &str)], expected: Option<u64>| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            assert_eq!(told(&pairs.collect()), expected);
        };
        check(&[], None);
        check(&[("retry-after", "3")], Some(3_000));
        check(&[("retry-after", " 0 ")], Some(0));
        check(&[("retry-after", "3"), ("retry-after-ms", "40")], Some(40));
        check(&[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], None);
        check(&[("retry-after", "-1")], None);
        check(
            &[("retry-after", "18446744073709551615")],
            Some(TOLD_MS_MAX),
        );
    }
}
