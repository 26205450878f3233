//! The policy and the summary rule for a model whose context is smaller than the agent's policy allows. Pure.

use context::models;
use context::policy::{Budget, Policy};
use context::stages::budget::{Room, context_tokens};

use super::summary_boundary::{EventWeight, SummaryRule};

/// The summarised history may fill the room for turns divided by this: the previous summary and the instructions need room
/// too.
const HISTORY_DIVISOR: u64 = 2;

/// The policy for the model of summaries; `None`: the agent's policy fits, or the model's limits are unknown.
pub(super) fn policy_for(policy: &Policy, model: &str) -> Option<Policy> {
    let limits = models::limits(model)?;
    if u64::from(limits.context_tokens_max) >= context_tokens(policy) {
        return None;
    }
    Some(Policy {
        model: Some(model.to_owned()),
        budget: Budget {
            context_tokens_max: Some(limits.context_tokens_max),
            // The agent's reserve may exceed the limit of this model.
            reserved_tokens: None,
            low_water_percent: policy.budget.low_water_percent,
        },
        ..policy.clone()
    })
}

/// The rule for a model with this policy: `tokens_kept` is raised until the summarised part fits.
pub(super) fn rule_within_room(policy: &Policy, rule: SummaryRule, newest_first: &[EventWeight]) -> SummaryRule {
    let room = Room::of(policy, 0).map_or(0, |room| room.turns / HISTORY_DIVISOR);
    let sum: u64 = newest_first.iter().map(|event| event.tokens).sum();
    SummaryRule { tokens_kept: rule.tokens_kept.max(sum.saturating_sub(room)), ..rule }
}

#[cfg(test)]
mod tests {
    use domain::Version;

    use super::super::summary_boundary::EventRole;
    use super::*;

    fn policy(json: &str) -> Policy {
        Policy::parse(json).unwrap()
    }

    #[test]
    fn a_smaller_model_has_its_own_limits() {
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
    fn tokens_beyond_the_room_are_kept() {
        let event = |tokens| EventWeight { version: Version(1), tokens, role: EventRole::User };
        let small = policy(r#"{"budget":{"context_tokens_max":1000,"reserved_tokens":200}}"#);
        for (tokens, expected) in [([100, 300], 50), ([200, 250], 50), ([200, 251], 51)] {
            let rule = SummaryRule { tokens_min: 300, tokens_kept: 50 };
            let rule = rule_within_room(&small, rule, &tokens.map(event));
            assert_eq!((rule.tokens_min, rule.tokens_kept), (300, expected));
        }
    }
}
