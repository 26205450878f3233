//! A position that the caller names: the read waits until it has reached it, within bounds.

use std::time::Duration;

use read_model::queries::EventQuery;
use runtime::backoff::Backoff;
use wire::status::Problem;

use crate::fresh::{self, Base};
use crate::request::{Freshness, Target};
use crate::{Gateway, problem};

/// The first wait between two looks.
const WAIT_BASE: Duration = Duration::from_millis(5);
/// The longest wait between two looks.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Kept back for a last look, so that a position that is not reached is told as that.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// The read once it has reached the target's fence: by the stream's leader, or, for an eventual read, by the rows alone.
///
/// # Errors
/// The fence is not reached within the gateway's bound and the call's patience, or a dependency is away.
pub async fn wait(
    gateway: &Gateway,
    target: &Target,
    events: Option<&EventQuery>,
    mut base: Base,
) -> Result<Base, Problem> {
    let patience = target.patience;
    let end = patience.less(LOOK_MAX).at_most(gateway.fence_wait);
    let mut backoff = Backoff::new(WAIT_BASE, WAIT_MAX);
    loop {
        base = match target.freshness {
            Freshness::Fresh => {
                let last = gateway.record.last_from_leader(&target.key);
                match patience.record(last).await? {
                    Some(last) => base.with_last(&last)?,
                    None => base,
                }
            }
            Freshness::Eventual => {
                let rows = fresh::rows(gateway, target, events);
                Base::of(patience.rows(rows).await?, None)?
            }
        };
        if base.has_reached(target.fence) {
            return Ok(base);
        }
        if end.is_over() {
            return Err(problem::position_not_reached());
        }
        backoff.wait().await;
    }
}
