//! What the model of summaries has room for, where it takes less than the agent's policy allows. Pure.

use context::models;
use context::policy::{Budget, Policy};
use context::stages::budget::{Room, context_tokens};

use super::summary_boundary::{Due, Weighed};

/// Which part of its room the history fills that a summary is made of, at most: the instructions and the summary before it
/// take room too.
const HISTORY_PART: u64 = 2;

/// The policy for this model; none: the agent's own suits it, or nothing is known of it.
pub(super) fn policy_for(policy: &Policy, model: &str) -> Option<Policy> {
    let limits = models::limits(model)?;
    if u64::from(limits.context_tokens_max) >= context_tokens(policy) {
        return None;
    }
    Some(Policy {
        model: Some(model.to_owned()),
        budget: Budget {
            context_tokens_max: Some(limits.context_tokens_max),
            // The agent's reserve may be more than there is.
            reserved_tokens: None,
            low_water_percent: policy.budget.low_water_percent,
        },
        ..policy.clone()
    })
}

/// When a summary is due of a history that a model with this policy reads: so much of it is kept that the rest has room.
pub(super) fn due_within(policy: &Policy, due: Due, newest_first: &[Weighed]) -> Due {
    let room = Room::of(policy, 0).map_or(0, |room| room.turns / HISTORY_PART);
    let sum: u64 = newest_first.iter().map(|event| event.tokens).sum();
    Due {
        tokens_kept: due.tokens_kept.max(sum.saturating_sub(room)),
        ..due
    }
}

#[cfg(test)]
mod tests {
    use domain::Version;

    use super::super::summary_boundary::Step;
    use super::*;

    fn policy(json: &str) -> Policy {
        Policy::parse(json).unwrap()
    }

    #[test]
    fn a_smaller_model_brings_its_own_limits() {
        let agents = policy(
            r#"{"model":"claude-x","instructions":"be kind","budget":{"reserved_tokens":9000,"low_water_percent":30}}"#,
        );
        let small = policy(
            r#"{"model":"gpt-4","instructions":"be kind","budget":{"context_tokens_max":8192,"low_water_percent":30}}"#,
        );
        assert_eq!(policy_for(&agents, "gpt-4"), Some(small));
        for (json, model) in [
            (r#"{"model":"gpt-4"}"#, "gpt-4"),
            (r#"{"model":"gpt-4"}"#, "claude-x"),
            (r#"{"budget":{"context_tokens_max":8192}}"#, "gpt-4"),
            ("{}", "nobody-knows-it"),
        ] {
            assert_eq!(policy_for(&policy(json), model), None, "{json} {model}");
        }
        let more = policy(r#"{"budget":{"context_tokens_max":8193}}"#);
        assert!(policy_for(&more, "gpt-4").is_some());
    }

    #[test]
    fn what_has_no_room_is_kept() {
        let weighed = |tokens| Weighed {
            version: Version(1),
            tokens,
            step: Step::Asks,
        };
        let small = policy(r#"{"budget":{"context_tokens_max":1000,"reserved_tokens":200}}"#);
        for (tokens, expected) in [([100, 300], 50), ([200, 250], 50), ([200, 251], 51)] {
            let due = Due {
                tokens_min: 300,
                tokens_kept: 50,
            };
            let told = due_within(&small, due, &tokens.map(weighed));
            assert_eq!((told.tokens_min, told.tokens_kept), (300, expected));
        }
    }
}
