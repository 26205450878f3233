//! What the stages did with the events that a context omits or changes. Each stage records its own outcomes; receipts and
//! explanations are read from them, and nothing is worked out again.

use domain::{CallId, Version};

/// What one stage did with a range of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The version of the turn that the event belongs to; the first version where there is no such turn.
    pub turn: Version,
    /// The first version.
    pub first: Version,
    /// The last version, included.
    pub last: Version,
    /// What was done.
    pub effect: Effect,
}

/// What a stage did with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Omitted: a rewind hides it.
    Rewound,
    /// Omitted: the summary covers it.
    Summarised,
    /// Included although the summary covers it: a later event belongs to the same turn, and turns are kept whole.
    Carried,
    /// Moved to the instructions.
    MovedToInstructions,
    /// Omitted: the budget has no room.
    OverBudget,
    /// Omitted: a bound on messages, or on what is read.
    OverBound,
    /// Omitted: a result without a call.
    Orphaned,
    /// A stub replaces the result.
    Cleared {
        /// The call of the result.
        call: CallId,
        /// The tokens of the result.
        tokens: u32,
    },
    /// The call has no result yet; a note says so.
    Pending(CallId),
    /// The call was interrupted before its result; a note says so.
    Interrupted(CallId),
    /// Secrets in it were replaced.
    Redacted,
    /// A part of it was dropped, since it had secrets and its provider accepts it only unaltered.
    PartDropped(DroppedKind),
    /// Moved to the digest of tool calls.
    Digested,
    /// Omitted: the digest of tool calls has no room.
    NotDigested,
}

/// The stage that has an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the effective history, before the first stage of a plan.
    History,
    /// [`crate::stages::summarise`]
    Summarise,
    /// [`crate::stages::own_instructions`]
    OwnInstructions,
    /// [`crate::stages::select`], within [`crate::stages::budget`]
    Select,
    /// [`crate::stages::clear`]
    Clear,
    /// [`crate::stages::repair`]
    Repair,
    /// [`crate::stages::redact`]
    Redact,
    /// [`crate::stages::tool_digest`]
    ToolDigest,
}

impl Outcome {
    /// The outcome of one event of a turn.
    #[must_use]
    pub fn of(turn: Version, version: Version, effect: Effect) -> Self {
        Self { turn, first: version, last: version, effect }
    }

    /// The outcome of a range of versions; none where the range is empty.
    #[must_use]
    pub fn of_range(first: Version, last: Version, effect: Effect) -> Option<Self> {
        (first <= last).then_some(Self { turn: first, first, last, effect })
    }
}

impl Effect {
    /// The stage that has this effect.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self {
            Self::Rewound => Stage::History,
            Self::Summarised | Self::Carried => Stage::Summarise,
            Self::MovedToInstructions => Stage::OwnInstructions,
            Self::OverBudget | Self::OverBound | Self::Orphaned => Stage::Select,
            Self::Cleared { .. } => Stage::Clear,
            Self::Pending(_) | Self::Interrupted(_) => Stage::Repair,
            Self::Redacted | Self::PartDropped(_) => Stage::Redact,
            Self::Digested | Self::NotDigested => Stage::ToolDigest,
        }
    }
}

/// The kinds of content that are dropped as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppedKind {
    /// A signed thought.
    Thinking,
    /// A provider's own item.
    ProviderItem,
    /// The signature of a call, which was made for another input.
    CallSignature,
}

impl DroppedKind {
    /// Its name in receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::ProviderItem => "provider_item",
            Self::CallSignature => "call_signature",
        }
    }
}

/// The versions of the events with an effect, in the order in which they were recorded.
pub fn versions<'a>(outcomes: &'a [Outcome], effect: &'a Effect) -> impl Iterator<Item = Version> + 'a {
    let with = outcomes.iter().filter(move |one| one.effect == *effect);
    with.map(|one| one.first)
}
