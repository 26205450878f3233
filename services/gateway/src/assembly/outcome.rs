//! What the stages did, as callers get it.

use context::outcome::Stage;
use context::{Effect, Outcome};
use domain::Segments;
use wire::proto::read::v1 as proto;

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

fn effect(effect: &Effect) -> proto::StageEffect {
    match effect {
        Effect::Rewound => proto::StageEffect::Rewound,
        Effect::Summarised => proto::StageEffect::Summarised,
        Effect::Carried => proto::StageEffect::Carried,
        Effect::MovedToInstructions => proto::StageEffect::MovedToInstructions,
        Effect::OverBudget => proto::StageEffect::OverBudget,
        Effect::OverBound => proto::StageEffect::OverBound,
        Effect::Orphaned => proto::StageEffect::Orphaned,
        Effect::Cleared { .. } => proto::StageEffect::Cleared,
        Effect::Repeated => proto::StageEffect::Repeated,
        Effect::Pending(_) => proto::StageEffect::Pending,
        Effect::Interrupted(_) => proto::StageEffect::Interrupted,
        Effect::Redacted => proto::StageEffect::Redacted,
        Effect::PartDropped(_) => proto::StageEffect::PartDropped,
        Effect::Digested => proto::StageEffect::Digested,
        Effect::NotDigested => proto::StageEffect::NotDigested,
    }
}
