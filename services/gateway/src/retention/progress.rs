//! The changes of a round: paced, few at once, and no more than it may make.

use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::Instrument as _;

use read_model::ExpiryRule;

use super::change::{Change, Outcome, Target, carry_out};
use super::config::Limits;
use super::round_result::Tally;
use super::rules::Kind;
use super::{Means, metrics};

/// How many changes may fail before a round ends: whatever is in their way may be gone at the next one.
pub const FAILURES_MAX: u32 = 20;

/// How far a round has come.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) tally: Tally,
    pub(super) is_refused: bool,
    changes_left: u32,
    changes_at_once: usize,
    ticks: Interval,
}

/// Whether all of it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Whole,
    /// The round came to its end before.
    Cut,
}

impl Progress {
    /// At the beginning.
    pub(super) fn new(limits: &Limits) -> Self {
        let mut ticks = interval(limits.change_every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self {
            tally: Tally::default(),
            is_refused: false,
            changes_left: limits.changes_max,
            changes_at_once: usize::try_from(limits.changes_at_once).unwrap_or(usize::MAX),
            ticks,
        }
    }

    /// Whether the round must not go on.
    pub(super) fn is_over(&self) -> bool {
        self.is_refused || self.changes_left == 0 || self.tally.failed >= FAILURES_MAX
    }

    /// Changes what a rule's page names.
    pub(super) async fn change_all(
        &mut self,
        means: &Means,
        targets: Vec<Target>,
        rule: &ExpiryRule,
    ) -> Extent {
        let kind = Kind::of(rule);
        let mut extent = Extent::Whole;
        let mut under_way = JoinSet::new();
        for target in targets {
            if under_way.len() >= self.changes_at_once
                && let Some(ended) = under_way.join_next().await
            {
                self.count(kind, ended.unwrap_or(Outcome::Failed));
            }
            if self.is_over() {
                extent = Extent::Cut;
                break;
            }
            self.ticks.tick().await;
            self.changes_left -= 1;
            let change = carry_out(means.clone(), target, Change::by(rule));
            under_way.spawn(change.in_current_span());
        }
        while let Some(ended) = under_way.join_next().await {
            self.count(kind, ended.unwrap_or(Outcome::Failed));
        }
        extent
    }

    fn count(&mut self, kind: Kind, outcome: Outcome) {
        metrics::change_ended(kind, outcome);
        match outcome {
            Outcome::Changed => self.tally.changed += 1,
            Outcome::Settled => self.tally.settled += 1,
            Outcome::Failed => self.tally.failed += 1,
            Outcome::Refused => self.is_refused = true,
        }
    }
}
