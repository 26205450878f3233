//! How much of a conversation a model has room for, and where the room ends.
//!
//! Tokens of a conversation are counted from its beginning, so the place of every event is known without reading what came
//! before it. The room for turns has two zones: the newest events, as they are, and before the *line* the aged ones, whose
//! tool results are cleared. The line stands still while the conversation grows, and when the newest no longer fit it moves
//! by a whole step, down to the low-water mark: so contexts share their beginning for many turns, and one break serves all
//! of them. The line follows from the count alone: nobody needs to remember it.

use crate::models;
use crate::policy::{Budget, Policy};
use crate::stages::clear::{self, STUB_TOKENS};
use crate::unit::Unit;

/// The most that is reserved by default, as a part of the context: a quarter.
const RESERVED_PART: u64 = 4;

/// At the least, a trim keeps this part of what is fresh at the low-water mark.
const FRESH_KEPT_PART: u64 = 2;

/// The room for turns, tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// All turns together.
    pub turns: u64,
    /// The events past the line.
    pub fresh: u64,
    /// By how much the line moves at a time.
    pub step: u64,
}

/// There is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// The instructions, and what is reserved, leave nothing for turns.
    #[error(
        "instructions and summary need {fixed} tokens, of {available} that the budget leaves beside its reserve: shorten \
         them, or raise budget.context_tokens_max"
    )]
    Instructions {
        /// What they need.
        fixed: u64,
        /// What there is.
        available: u64,
    },
    /// The same, with a digest of tool calls among what is reserved.
    #[error(
        "instructions, summary and digest need {fixed} tokens, of {available} that the budget leaves beside its reserve: lower \
         tool_digest.bytes_max, shorten the others, or raise budget.context_tokens_max"
    )]
    Digest {
        /// What they need.
        fixed: u64,
        /// What there is.
        available: u64,
    },
    /// The newest turn alone is too long.
    #[error(
        "the newest turn needs {needed} tokens, of {room} that the budget leaves for turns: raise budget.context_tokens_max, or clear tool results"
    )]
    NewestTurn {
        /// What it needs.
        needed: u64,
        /// What there is.
        room: u64,
    },
}

impl Room {
    /// The room that a policy leaves beside `fixed` tokens of instructions and the like.
    ///
    /// # Errors
    /// [`NoRoom::Instructions`], [`NoRoom::Digest`].
    pub fn of(policy: &Policy, fixed: u64) -> Result<Self, NoRoom> {
        let available = available(policy);
        let turns = available
            .checked_sub(fixed)
            .filter(|turns| *turns > 0)
            .ok_or(match policy.tool_digest {
                Some(_) => NoRoom::Digest { fixed, available },
                None => NoRoom::Instructions { fixed, available },
            })?;
        let fresh = policy.clear.as_ref().map_or(turns, |clear| {
            (turns * u64::from(clear.fresh_percent) / 100).max(1)
        });
        let low_water = policy.budget.low_water_percent;
        let low_water = u64::from(low_water.unwrap_or(Budget::LOW_WATER_PERCENT));
        // What is aged fills the room too, but must not leave the newest results with hardly any.
        let kept = (turns * low_water / 100)
            .saturating_sub(turns - fresh)
            .max(fresh * low_water / (100 * FRESH_KEPT_PART));
        Ok(Self {
            turns,
            fresh,
            step: (fresh - kept).max(1),
        })
    }

    /// The line for a conversation of so many tokens: the place of the first event that is not aged.
    #[must_use]
    pub fn line(self, total: u64) -> u64 {
        total.saturating_sub(self.fresh).div_ceil(self.step) * self.step
    }
}

/// The model's whole context, in its own tokens.
#[must_use]
pub fn context_tokens(policy: &Policy) -> u64 {
    let known = policy.model.as_deref().and_then(models::limits);
    let known = known.map_or(Budget::CONTEXT_TOKENS, |model| model.context_tokens_max);
    u64::from(policy.budget.context_tokens_max.unwrap_or(known))
}

/// The tokens of a context, beside its reserve.
fn available(policy: &Policy) -> u64 {
    let model = policy.model.as_deref().and_then(models::limits);
    let percent = model.map_or(100, |model| model.tokens_percent);
    let context = context_tokens(policy);
    let usual = u64::from(Budget::RESERVED_TOKENS).min(context / RESERVED_PART);
    let reserved = policy.budget.reserved_tokens.map_or(usual, u64::from);
    context.saturating_sub(reserved) * 100 / u64::from(percent.max(1))
}

/// What is left of the room while turns are taken, the newest first.
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
    /// The place of the first event that is not aged.
    pub line: u64,
    /// What the turns taken weigh.
    pub spent: u64,
    /// What the first turn weighs that there was no room for.
    pub refused: Option<u64>,
    /// The place of that turn.
    pub refused_at: u64,
    /// Whether the line alone does not say where the turns begin: the newest turn reaches over it, or what is past it does
    /// not fit.
    pub beside_line: bool,
}

/// Whether a turn has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It has.
    Admitted,
    /// It has not, nor has any older one.
    Full,
}

impl<'a> Allowance<'a> {
    /// All of the room.
    #[must_use]
    pub fn new(policy: &'a Policy, room: Room) -> Self {
        Self {
            policy,
            room,
            measure: Measure::default(),
            aged: 0,
        }
    }

    /// Draws the line, once the tokens of the conversation up to its newest event are known.
    pub fn begin(&mut self, total: u64) {
        self.measure.total = total;
        self.measure.line = self.room.line(total);
    }

    /// How the room was used so far.
    #[must_use]
    pub fn measure(&self) -> Measure {
        self.measure
    }

    /// Takes a turn if there is room for it. The newest one needs only to fit at all.
    pub fn admit(&mut self, unit: &Unit) -> Admission {
        let cost = cost(unit, self.measure.line, self.policy);
        let is_newest = self.measure.spent == 0;
        // Without their calls, turns take hardly any of the room that the line is drawn by.
        let is_by_line = self.policy.tool_digest.is_none();
        if is_by_line && unit.begins_at() < self.measure.line {
            if is_newest {
                self.measure.beside_line = true;
            } else {
                self.aged += cost;
            }
        }
        let spent = self.measure.spent + cost;
        let is_aged_full = self.aged > self.room.turns - self.room.fresh;
        if spent > self.room.turns || is_aged_full {
            self.measure.refused = Some(cost);
            self.measure.refused_at = unit.begins_at();
            self.measure.beside_line |= !is_aged_full;
            return Admission::Full;
        }
        self.measure.spent = spent;
        Admission::Admitted
    }
}

/// What a turn weighs in a context whose results are cleared before `line`; with a digest, what it says alone.
#[must_use]
pub fn cost(unit: &Unit, line: u64, policy: &Policy) -> u64 {
    if policy.tool_digest.is_some() {
        return u64::from(unit.tokens.own);
    }
    let calls = unit.calls.iter().map(|call| {
        let result = match &call.result {
            Some(result) if clear::is_due(call, result, line, policy.clear.as_ref()) => STUB_TOKENS,
            Some(result) => result.tokens.own,
            None => STUB_TOKENS,
        };
        u64::from(call.tokens.own) + u64::from(result)
    });
    u64::from(unit.tokens.own) + calls.sum::<u64>()
}
