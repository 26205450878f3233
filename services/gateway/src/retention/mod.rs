//! Retention: a background job that erases and archives what the agents' rules no longer keep.
//!
//! Rules come from the registry, what they are about from the rows, and every change goes to the record through the writer,
//! under the gateway's own token: this deletes nothing by itself. Any number of gateways may do it at once, and any of them
//! may end anywhere: a change names the version of the row that it was decided on, so whatever happened since stands, and
//! its key is the same for all, so it happens once. A round begins once the rows hold all that was recorded before it, and is
//! put off where they do not: what owners have is never counted by rows that are behind.
//!
//! A conversation with a run under way is left alone until that is over, and none is erased that others were forked from
//! until those are gone: they could not be read without it.

mod change;
pub mod config;
mod fence;
pub mod metrics;
mod progress;
mod round;
mod round_result;
mod rules;
mod walks;

use std::convert::Infallible;
use std::time::Duration;

use event_log::{Record, Registry};
use read_model::ReadModel;
use runtime::clock::Clock;
use runtime::config::Secret;
use runtime::shutdown::Shutdown;
use tokio::time::{Instant, sleep};
use tracing::Instrument as _;

pub use config::{Limits, RetentionConfig};
pub use progress::FAILURES_MAX;
pub use round::{PAGES_PER_RULE_MAX, round};
pub use round_result::{RoundError, Tally};
pub use walks::Walks;

use crate::writer::WriterClient;

/// What the job works with. Clones share it.
#[derive(Debug, Clone)]
pub struct Means {
    /// The record.
    pub record: Record,
    /// The agents and their rules.
    pub registry: Registry,
    /// The rows.
    pub read_model: ReadModel,
    /// What changes are asked of.
    pub writer: WriterClient,
    /// The gateway's own token: scopes append and read, any tenant.
    pub token: Secret,
    /// The time.
    pub clock: Clock,
}

/// Does rounds until `shutdown` begins, unless the configuration says never. Needs a tokio runtime.
pub fn start(means: Means, config: &RetentionConfig, shutdown: &Shutdown) {
    let Some(every) = config.every() else { return };
    shutdown.spawn_cancellable(keep(means, config.limits(), every));
}

async fn keep(means: Means, limits: Limits, every: Duration) -> Infallible {
    let mut walks = Walks::default();
    loop {
        sleep(jittered(every)).await;
        let began = Instant::now();
        let span = tracing::info_span!("gateway.retention.round");
        let done = round(&means, &limits, &mut walks).instrument(span).await;
        metrics::round_ended(&done, began.elapsed());
        report(&done, began.elapsed());
    }
}

fn report(done: &Result<Tally, RoundError>, took: Duration) {
    match done {
        // Without rules there is nothing to tell.
        Ok(tally) if tally.agents == 0 => {}
        Ok(tally) => tracing::info!(
            agents = tally.agents,
            changed = tally.changed,
            settled = tally.settled,
            failed = tally.failed,
            left_over = tally.left_over,
            took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "a round of retention is done"
        ),
        Err(RoundError::Refused) => {
            tracing::error!("retention is not done: set `writer_token`, with append and read");
        }
        Err(error) => tracing::warn!(%error, "a round of retention is put off"),
    }
}

/// So that gateways that began together do not all read the same at once.
fn jittered(every: Duration) -> Duration {
    rand::random_range(every.mul_f64(0.75)..=every.mul_f64(1.25))
}
