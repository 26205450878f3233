//! Fences: a read that follows a write waits until it holds that write, within bounds.
//!
//! The decisions are in `decision`, which is pure. This file asks whom they name: the stream's leader, or the rows again.

mod decision;
#[cfg(test)]
mod model;

use std::time::Duration;

use domain::{Position, Sequence};
use read_model::queries::EventQuery;
use runtime::backoff::Backoff;
use wire::proto::write::v1::CommitResult;
use wire::status::Problem;
use wire::token::PositionToken;

use self::decision::{Seen, Source, Step, step};
use crate::fresh::{self, Base};
use crate::request::{Freshness, Target};
use crate::{Gateway, problem};

/// The first wait between two looks.
const WAIT_BASE: Duration = Duration::from_millis(5);
/// The longest wait between two looks.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// Kept back for a last look, so that a position that is not reached is reported as that.
const LOOK_MAX: Duration = Duration::from_millis(50);

/// The position of a commit, as its writer answered; `None`: nothing was recorded, or the answer has no token of this record.
#[must_use]
pub fn of_result(gateway: &Gateway, result: &CommitResult) -> Option<Position> {
    let token = PositionToken::decode(&result.position_token, gateway.record.id());
    token.ok().map(|token| token.position)
}

/// The later of two positions of one partition.
#[must_use]
pub fn later(one: Option<Position>, other: Option<Position>) -> Option<Position> {
    one.max(other)
}

/// The read once it holds what it must; see `decision::step`.
///
/// # Errors
/// The fence is not reached within the gateway's bound and the call's patience, or a dependency is away.
pub async fn reached(
    gateway: &Gateway,
    target: &Target,
    events: Option<&EventQuery>,
    mut base: Base,
) -> Result<Base, Problem> {
    let fence = target.fence.map_or(Sequence(0), |fence| fence.sequence);
    let mut source = match target.freshness {
        Freshness::Fresh => Source::Replica,
        Freshness::Leader => ASKED,
        Freshness::Eventual => Source::Rows,
    };
    let patience = target.patience;
    let end = patience.less(LOOK_MAX).at_most(gateway.fence_wait);
    let mut backoff = Backoff::new(WAIT_BASE, WAIT_MAX);
    loop {
        let seen = Seen {
            source,
            last: base.place.sequence,
            is_running: base.head().is_some_and(|head| head.active_run.is_some()),
        };
        let next = step(seen, fence);
        match next {
            Step::Answer => return Ok(base),
            // The first question to the leader is asked at once; all others are questions again.
            Step::AskLeader => source = ASKED,
            Step::AskPartition | Step::Wait if end.is_over() => {
                return Err(problem::position_not_reached());
            }
            Step::AskPartition => {
                let bounds = gateway.record.bounds_of(target.key_partition(gateway));
                let partition = patience.record(bounds).await?.last;
                source = Source::Leader { partition };
                if partition < fence {
                    backoff.wait().await;
                }
            }
            Step::Wait => {
                backoff.wait().await;
            }
        }
        base = read_again(gateway, target, events, (base, next)).await?;
    }
}

/// The leader was asked for the conversation's last commit, and not how far the partition reaches.
const ASKED: Source = Source::Leader {
    partition: Sequence(0),
};

async fn read_again(
    gateway: &Gateway,
    target: &Target,
    events: Option<&EventQuery>,
    (base, step): (Base, Step),
) -> Result<Base, Problem> {
    if step == Step::Wait {
        let rows = fresh::rows(gateway, target, events);
        return Base::of(target.patience.rows(rows).await?, None);
    }
    let last = gateway.record.last_from_leader(&target.key);
    match target.patience.record(last).await? {
        Some(last) => base.with_last(&last),
        None => Ok(base),
    }
}
