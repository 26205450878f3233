//! Reports on keys: stores the last uses that this writer has seen, and sets the metric of keys that end.

use std::convert::Infallible;
use std::time::Duration;

use domain::Timestamp;
use registry::Registry;
use runtime::clock::Clock;
use runtime::every::every;

use crate::metrics;

/// Reports until its task is cancelled. Uses that cannot be stored are dropped: the next use of the key is later.
pub(crate) async fn run(registry: Registry, clock: Clock, pause: Duration) -> Infallible {
    let mut rounds = every(pause);
    loop {
        rounds.next().await;
        let now = Timestamp(clock.now_nanos());
        metrics::ending_keys(&registry.ending_keys(now), now);
        let stored = registry.store_key_uses(registry.take_key_uses(), |_| true).await;
        if let Err(unavailable) = stored {
            tracing::warn!(%unavailable, "the last uses of keys could not be stored");
        }
    }
}
