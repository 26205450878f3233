//! Waiting for a condition with a timeout; nothing else sleeps.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// The timeout of everything that a test waits for, on a machine that is busy with other tests.
pub const TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);

/// Calls `probe` until it returns a value, and returns that.
///
/// # Panics
/// After [`TIMEOUT`]; the panic shows `what`.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = within(what, probe()).await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {TIMEOUT:?}");
        sleep(POLL).await;
    }
}

/// Calls `probe` until it returns true.
///
/// # Panics
/// As [`eventually`].
pub async fn eventually_true(what: &str, mut probe: impl FnMut() -> bool) {
    eventually(what, || std::future::ready(probe().then_some(()))).await;
}

/// Waits for `future`.
///
/// # Panics
/// After [`TIMEOUT`]; the panic shows `what`.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = timeout(TIMEOUT, future).await.ok();
    done.unwrap_or_else(|| panic!("{what}: not within {TIMEOUT:?}"))
}
