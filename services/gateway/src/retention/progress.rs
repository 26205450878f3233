//! The progress of a part of a round, its documents or its rules: sends changes at a bounded rate and concurrency, and counts them.

use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::Instrument as _;

use read_model::ExpiryRule;

use super::change::{Change, Outcome, Target, apply};
use super::config::Limits;
use super::rules::RuleKind;
use super::{Dependencies, Tally, metrics};

/// Number of failed changes that ends a part of a round, its documents or its rules. The next round may succeed.
pub const FAILURES_MAX: u32 = 20;

/// The progress of a part of a round.
#[derive(Debug)]
pub(super) struct Progress {
    pub(super) tally: Tally,
    pub(super) is_refused: bool,
    changes_left: u32,
    changes_at_once: usize,
    ticks: Interval,
}

/// Whether a part of a round was processed completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    Complete,
    /// The round ended before.
    Partial,
}

impl Progress {
    /// The progress of a new part of a round.
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

    /// Whether the part must end.
    pub(super) fn is_over(&self) -> bool {
        self.is_refused || self.changes_left == 0 || self.tally.failed >= FAILURES_MAX
    }

    /// Changes the conversations of a page.
    pub(super) async fn change_all(
        &mut self,
        deps: &Dependencies,
        targets: Vec<Target>,
        rule: &ExpiryRule,
    ) -> Completion {
        let kind = RuleKind::of(rule);
        let mut completion = Completion::Complete;
        let mut under_way = JoinSet::new();
        for target in targets {
            if under_way.len() >= self.changes_at_once
                && let Some(ended) = under_way.join_next().await
            {
                self.count(kind, ended.unwrap_or(Outcome::Failed));
            }
            if self.is_over() {
                completion = Completion::Partial;
                break;
            }
            self.take_turn().await;
            let change = apply(deps.clone(), target, Change::by(rule));
            under_way.spawn(change.in_current_span());
        }
        while let Some(ended) = under_way.join_next().await {
            self.count(kind, ended.unwrap_or(Outcome::Failed));
        }
        completion
    }

    /// Waits for the turn of one change, and counts it as attempted.
    pub(super) async fn take_turn(&mut self) {
        self.ticks.tick().await;
        self.changes_left = self.changes_left.saturating_sub(1);
    }

    /// Counts the outcome of a change.
    pub(super) fn count(&mut self, kind: RuleKind, outcome: Outcome) {
        metrics::change_ended(kind, outcome);
        match outcome {
            Outcome::Changed => self.tally.changed += 1,
            Outcome::Settled => self.tally.settled += 1,
            Outcome::Failed => self.tally.failed += 1,
            Outcome::Refused => self.is_refused = true,
        }
    }
}
