//! What the stages did, as callers get it.

use context::outcome::Stage;
use context::{Effect, Outcome};
use domain::Segments;
use wire::proto::read::v1 as proto;
use wire::proto::read::v1::StageEffect;

/// The outcomes of the history that a context is made of: what rewinds hide.
pub(super) fn of_history(effective: &Segments) -> impl Iterator<Item = Outcome> + '_ {
    let hidden = effective.hidden();
    hidden.filter_map(|(first, last)| Outcome::of_range(first, last, Effect::Rewound))
}

/// An outcome as protobuf.
#[must_use]
pub fn to_proto(outcome: &Outcome) -> proto::StageOutcome {
    proto::StageOutcome {
        first_version: outcome.first.0,
        last_version: outcome.last.0,
        stage: stage(outcome.effect.stage()).into(),
        effect: effect(&outcome.effect).into(),
    }
}

fn stage(stage: Stage) -> proto::ContextStage {
    match stage {
        Stage::History => proto::ContextStage::History,
        Stage::Summarise => proto::ContextStage::Summarise,
        Stage::OwnInstructions => proto::ContextStage::OwnInstructions,
        Stage::Select => proto::ContextStage::Select,
        Stage::Clear => proto::ContextStage::Clear,
        Stage::Repair => proto::ContextStage::Repair,
        Stage::Redact => proto::ContextStage::Redact,
        Stage::ToolDigest => proto::ContextStage::ToolDigest,
    }
}

/// The effect as protobuf.
#[must_use]
pub fn effect(effect: &Effect) -> StageEffect {
    match effect {
        Effect::Rewound => StageEffect::Rewound,
        Effect::Summarised => StageEffect::Summarised,
        Effect::Carried => StageEffect::Carried,
        Effect::MovedToInstructions => StageEffect::MovedToInstructions,
        Effect::OverBudget => StageEffect::OverBudget,
        Effect::OverBound => StageEffect::OverBound,
        Effect::Orphaned => StageEffect::Orphaned,
        Effect::Cleared { .. } => StageEffect::Cleared,
        Effect::Pending(_) => StageEffect::Pending,
        Effect::Interrupted(_) => StageEffect::Interrupted,
        Effect::Redacted => StageEffect::Redacted,
        Effect::PartDropped(_) => StageEffect::PartDropped,
        Effect::Digested => StageEffect::Digested,
        Effect::NotDigested => StageEffect::NotDigested,
    }
}

/// An effect as people read it.
#[must_use]
pub fn text(effect: StageEffect) -> &'static str {
    match effect {
        StageEffect::Unspecified => "changed by a stage that this version does not know",
        StageEffect::Rewound => "omitted: the history was rewound",
        StageEffect::Summarised => "omitted: the summary covers it",
        StageEffect::Carried => "included: its turn continues after the summary",
        StageEffect::MovedToInstructions => "included with the instructions",
        StageEffect::OverBudget => "omitted: the budget has no room",
        StageEffect::OverBound => "omitted: a bound on messages",
        StageEffect::Orphaned => "omitted: its call is missing",
        StageEffect::Cleared => "cleared: a stub replaces it",
        StageEffect::Repeated => "omitted: it repeats an earlier event",
        StageEffect::Pending => "included; no result yet, a note says so",
        StageEffect::Interrupted => "included; interrupted, a note says so",
        StageEffect::Redacted => "included; secrets were replaced",
        StageEffect::PartDropped => "included; a part with secrets was dropped",
        StageEffect::Digested => "included in the digest, last",
        StageEffect::NotDigested => "omitted: the digest has no room",
    }
}

/// Whether the model does not read an event with this effect.
#[must_use]
pub fn is_omitted(effect: &Effect) -> bool {
    match effect {
        Effect::Rewound
        | Effect::Summarised
        | Effect::OverBudget
        | Effect::OverBound
        | Effect::Orphaned
        | Effect::NotDigested => true,
        Effect::Carried
        | Effect::MovedToInstructions
        | Effect::Cleared { .. }
        | Effect::Pending(_)
        | Effect::Interrupted(_)
        | Effect::Redacted
        | Effect::PartDropped(_)
        | Effect::Digested => false,
    }
}

/// The name of a stage.
#[must_use]
pub fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::History => "history",
        Stage::Summarise => "summarise",
        Stage::OwnInstructions => "own instructions",
        Stage::Select => "select",
        Stage::Clear => "clear",
        Stage::Repair => "repair",
        Stage::Redact => "redact",
        Stage::ToolDigest => "tool digest",
    }
}
