//! The outcomes of stages: none is missing.

use std::collections::BTreeSet;

use context::{Assembled, CONTEXT_KINDS, Effect};
use domain::{Fact, RecordedEvent, Version};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// Every message, call and result that is not among the turns has an outcome that says why.
pub(crate) fn omissions_have_outcomes(events: &[RecordedEvent], assembled: &Assembled) -> Result<(), TestCaseError> {
    let turns = &assembled.transcript.turns;
    let calls =
        turns.iter().flat_map(|turn| &turn.calls).flat_map(|call| [Some(call.version), call.answer.origin.result()]);
    let shown: BTreeSet<Version> = turns.iter().map(|turn| turn.version).chain(calls.flatten()).collect();
    for event in events {
        let is_content = match &event.event.fact {
            Fact::MessageAppended(message) => !message.parts.is_empty(),
            fact => CONTEXT_KINDS.contains(&fact.kind()),
        };
        let mut outcomes = assembled.report.outcomes.iter();
        let has_outcome = outcomes.any(|outcome| {
            let range = outcome.first..=outcome.last;
            range.contains(&event.version) && is_omission(&outcome.effect)
        });
        prop_assert!(
            !is_content || shown.contains(&event.version) || has_outcome,
            "{:?} is omitted and has no outcome: {:?}",
            event,
            assembled.report
        );
    }
    Ok(())
}

/// Whether an effect takes an event out of the turns; the others only change it.
fn is_omission(effect: &Effect) -> bool {
    match effect {
        Effect::Rewound
        | Effect::Summarised
        | Effect::MovedToInstructions
        | Effect::OverBudget
        | Effect::OverBound
        | Effect::Orphaned
        | Effect::PartDropped(_)
        | Effect::Digested
        | Effect::NotDigested => true,
        Effect::Carried | Effect::Cleared { .. } | Effect::Pending(_) | Effect::Interrupted(_) | Effect::Redacted => {
            false
        }
    }
}
