//! Bounds how long a reader continues while the record does not answer.

use std::time::Duration;

use futures::{Stream, StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use crate::connection::RETRY_DELAY_BASE;

/// How long a command that reads the record continues without an answer. A server that restarts, or the election of a leader, takes
/// seconds.
pub const OUTAGE_MAX: Duration = Duration::from_mins(1);
/// Maximum delay between two attempts.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// The failures of a reader since it last read something.
#[derive(Debug, Default)]
pub struct Outage {
    began: Option<Instant>,
    failures: u32,
}

impl Outage {
    /// Something was read.
    pub fn end(&mut self) {
        *self = Self::default();
    }

    /// Waits before the next attempt. `false`, at once: nothing was read for [`OUTAGE_MAX`].
    pub async fn wait(&mut self) -> bool {
        if self.is_over(Instant::now()) {
            return false;
        }
        self.failures = self.failures.saturating_add(1);
        sleep(backoff::delay(self.failures, RETRY_DELAY_BASE, WAIT_MAX)).await;
        true
    }

    /// Whether the reader gives up after a failure at this time.
    fn is_over(&mut self, now: Instant) -> bool {
        let began = *self.began.get_or_insert(now);
        now.saturating_duration_since(began) >= OUTAGE_MAX
    }
}

/// The items of a reader that continues by itself after an error, as [`crate::Record::follow`] does, without the errors of outages. An
/// outage is an error that `is_outage` selects; after [`OUTAGE_MAX`], it is returned. Any other error is returned at once.
pub fn without_outages<T, E>(
    items: impl Stream<Item = Result<T, E>> + Send + Unpin,
    is_outage: fn(&E) -> bool,
) -> impl Stream<Item = Result<T, E>> + Send + Unpin
where
    T: Send,
    E: Send,
{
    let reading = (items, Outage::default());
    Box::pin(stream::unfold(reading, move |(mut items, mut outage)| async move {
        loop {
            let item = items.next().await?;
            let is_lost = item.as_ref().is_err_and(is_outage);
            if is_lost && outage.wait().await {
                continue;
            }
            if item.is_ok() {
                outage.end();
            }
            return Some((item, (items, outage)));
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Unavailable;

    const FAILED: Unavailable = Unavailable::new("x");

    #[test]
    fn an_outage_has_a_bound() {
        let (mut outage, began) = (Outage::default(), Instant::now());
        let nearly = OUTAGE_MAX.saturating_sub(Duration::from_nanos(1));
        for (after, expected) in [(Duration::ZERO, false), (nearly, false), (OUTAGE_MAX, true)] {
            assert_eq!(outage.is_over(began + after), expected, "{after:?}");
        }
        outage.end();
        assert!(!outage.is_over(began + OUTAGE_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn errors_are_left_out_until_the_outage_is_too_long() {
        let began = Instant::now();
        let items = stream::iter([Ok(1), Err(FAILED), Err(FAILED), Ok(2)]).chain(stream::repeat(Err(FAILED)));
        let read: Vec<_> = without_outages(items, |_| true).take(3).collect().await;
        assert_eq!(read, [Ok(1), Ok(2), Err(FAILED)]);
        assert!((OUTAGE_MAX..OUTAGE_MAX * 2).contains(&began.elapsed()));
    }

    #[tokio::test]
    async fn other_errors_are_returned() {
        let items = stream::iter([Err(FAILED), Ok(1)]);
        let read: Vec<_> = without_outages(items, |_| false).collect().await;
        assert_eq!(read, [Err(FAILED), Ok(1)]);
    }
}
