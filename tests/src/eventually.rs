//! Waiting for what will be: a condition with a deadline, and nothing else that sleeps.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

/// How long anything may take that a test waits for, on a machine that is busy with other tests.
pub const PATIENCE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(10);

/// Asks `probe` until it gives something, and returns that.
///
/// # Panics
/// When [`PATIENCE`] is over; `what` names the thing that did not come.
pub async fn eventually<T, F>(what: &str, mut probe: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = within(what, probe()).await {
            return found;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        sleep(POLL).await;
    }
}

/// Asks `probe` until it says yes.
///
/// # Panics
/// As [`eventually`].
pub async fn eventually_true(what: &str, mut probe: impl FnMut() -> bool) {
    eventually(what, || std::future::ready(probe().then_some(()))).await;
}

/// Waits for `future`.
///
/// # Panics
/// When [`PATIENCE`] is over; `what` names the thing that did not come.
pub async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = timeout(PATIENCE, future).await.ok();
    done.unwrap_or_else(|| panic!("{what}: not within {PATIENCE:?}"))
}
