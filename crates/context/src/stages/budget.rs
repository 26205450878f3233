//! The token budget: how many turns fit, and which tool results are cleared.
//!
//! Tokens are counted from the beginning of the conversation, so the token count of an event is known without reading earlier
//! ones. The room for turns has two zones: the newest events as they are recorded, and older events, whose tool results are
//! cleared. The *clearing threshold* separates them. It stays the same while the conversation grows; when the newest events no
//! longer fit, it moves by a whole step, down to the low-water mark. So many successive contexts share their prefix. The
//! threshold follows from the token count alone, so nothing needs to store it.

use crate::models;
use crate::policy::{Budget, Policy};
use crate::stages::clear::{self, STUB_TOKENS};
use crate::unit::Unit;

/// The largest default reserve: a quarter of the context.
const RESERVED_PART: u64 = 4;

/// The smallest part of uncleared results that remains at the low-water mark.
const FRESH_KEPT_PART: u64 = 2;

/// The room for turns, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All turns together.
    pub turns: u64,
    /// The events after the threshold.
    pub fresh: u64,
    /// How far the threshold moves at a time.
    pub step: u64,
}

/// The budget is too small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// Instructions and reserve leave no room for turns.
    #[error(
        "instructions and summary need {fixed} tokens, of {available} that the budget leaves beside its reserve: shorten \
         them, or raise budget.context_tokens_max"
    )]
    Instructions {
        /// The tokens needed.
        fixed: u64,
        /// The tokens available.
        available: u64,
    },
    /// The same, with a digest of tool calls in the reserve.
    #[error(
        "instructions, summary and digest need {fixed} tokens, of {available} that the budget leaves beside its reserve: lower \
         tool_digest.bytes_max, shorten the others, or raise budget.context_tokens_max"
    )]
    Digest {
        /// The tokens needed.
        fixed: u64,
        /// The tokens available.
        available: u64,
    },
    /// The newest turn alone does not fit.
    #[error(
        "the newest turn needs {needed} tokens, of {room} that the budget leaves for turns: raise budget.context_tokens_max, or clear tool results"
    )]
    NewestTurn {
        /// The tokens needed.
        needed: u64,
        /// The tokens available.
        room: u64,
    },
}

impl Room {
    /// The room that a policy leaves after `fixed` tokens of instructions and other sections.
    ///
    /// # Errors
    /// [`NoRoom::Instructions`], [`NoRoom::Digest`].
    pub fn of(policy: &Policy, fixed: u64) -> Result<Self, NoRoom> {
        let available = available(policy);
        let turns = available.checked_sub(fixed).filter(|turns| *turns > 0).ok_or(match policy.tool_digest {
            Some(_) => NoRoom::Digest { fixed, available },
            None => NoRoom::Instructions { fixed, available },
        })?;
        let fresh = policy.clear.as_ref().map_or(turns, |clear| (turns * u64::from(clear.fresh_percent) / 100).max(1));
        let low_water = u64::from(policy.budget.low_water_percent.unwrap_or(Budget::LOW_WATER_PERCENT));
        // Cleared turns use room too, but must not take most of it from the newest results.
        let kept =
            (turns * low_water / 100).saturating_sub(turns - fresh).max(fresh * low_water / (100 * FRESH_KEPT_PART));
        Ok(Self { turns, fresh, step: (fresh - kept).max(1) })
    }

    /// The clearing threshold of a conversation with `total` tokens: the token count of the first event that is not cleared.
    #[must_use]
    pub fn threshold(self, total: u64) -> u64 {
        total.saturating_sub(self.fresh).div_ceil(self.step) * self.step
    }
}

/// The model's whole context window, in the model's own tokens.
#[must_use]
pub fn context_tokens(policy: &Policy) -> u64 {
    let known = policy
        .model
        .as_deref()
        .and_then(models::limits)
        .map_or(Budget::CONTEXT_TOKENS, |model| model.context_tokens_max);
    u64::from(policy.budget.context_tokens_max.unwrap_or(known))
}

/// The tokens of a context without its reserve.
fn available(policy: &Policy) -> u64 {
    let model = policy.model.as_deref().and_then(models::limits);
    let percent = model.map_or(100, |model| model.tokens_percent);
    let context = context_tokens(policy);
    let usual = u64::from(Budget::RESERVED_TOKENS).min(context / RESERVED_PART);
    let reserved = policy.budget.reserved_tokens.map_or(usual, u64::from);
    context.saturating_sub(reserved) * 100 / u64::from(percent.max(1))
}

/// The remaining room while turns are admitted, newest first.
#[derive(Debug, Clone)]
pub struct Allowance<'a> {
    policy: &'a Policy,
    room: Room,
    measure: Measure,
    aged: u64,
}

/// How the room was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Measure {
    /// The tokens of the conversation up to the newest event.
    pub total: u64,
    /// The clearing threshold.
    pub threshold: u64,
    /// The tokens of the admitted turns.
    pub spent: u64,
    /// The tokens of the first turn that did not fit.
    pub refused: Option<u64>,
    /// The token count of the conversation before that turn.
    pub refused_at: u64,
    /// Whether something other than the threshold decides where the turns begin: the newest turn reaches across it, or the turns
    /// after it do not fit.
    pub is_cut_elsewhere: bool,
}

/// Whether a turn fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It fits.
    Admitted,
    /// Neither it nor any older turn fits.
    Full,
}

impl<'a> Allowance<'a> {
    /// An allowance with all of the room.
    #[must_use]
    pub fn new(policy: &'a Policy, room: Room) -> Self {
        Self { policy, room, measure: Measure::default(), aged: 0 }
    }

    /// Computes the threshold from the tokens of the conversation up to its newest event.
    pub fn begin(&mut self, total: u64) {
        self.measure.total = total;
        self.measure.threshold = self.room.threshold(total);
    }

    /// How the room was used so far.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Admits a turn if it fits. The newest one may use all of the room.
    pub fn admit(&mut self, unit: &Unit) -> Admission {
        let cost = cost(unit, self.measure.threshold, self.policy);
        let is_newest = self.measure.spent == 0;
        // Without their calls, turns use little of the room that the threshold is computed from.
        let is_by_threshold = self.policy.tool_digest.is_none();
        if is_by_threshold && unit.tokens_before() < self.measure.threshold {
            if is_newest {
                self.measure.is_cut_elsewhere = true;
            } else {
                self.aged += cost;
            }
        }
        let spent = self.measure.spent + cost;
        let is_aged_full = self.aged > self.room.turns - self.room.fresh;
        if spent > self.room.turns || is_aged_full {
            self.measure.refused = Some(cost);
            self.measure.refused_at = unit.tokens_before();
            self.measure.is_cut_elsewhere |= !is_aged_full;
            return Admission::Full;
        }
        self.measure.spent = spent;
        Admission::Admitted
    }
}

/// The tokens of a turn in a context whose results are cleared before `threshold`. With a digest, calls do not count.
#[must_use]
pub fn cost(unit: &Unit, threshold: u64, policy: &Policy) -> u64 {
    if policy.tool_digest.is_some() {
        return u64::from(unit.tokens.own);
    }
    let calls = unit.calls.iter().map(|call| {
        let result = match &call.result {
            Some(result) if clear::is_due(call, result, threshold, policy.clear.as_ref()) => STUB_TOKENS,
            Some(result) => result.tokens.own,
            None => STUB_TOKENS,
        };
        u64::from(call.tokens.own) + u64::from(result)
    });
    u64::from(unit.tokens.own) + calls.sum::<u64>()
}
