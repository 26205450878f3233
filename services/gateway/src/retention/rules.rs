//! Converts an agent's retention settings into rules for the read model. Pure.

use domain::Timestamp;
use read_model::{ExpiryRule, KEPT_PER_OWNER_MAX};
use wire::proto::operate::v1::RetentionSettings;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// Retention of a session's conversation that has nothing but its creation, in seconds: a day.
const EMPTY_SECONDS_MAX: i64 = 24 * 60 * 60;

/// The kind of a rule: what it limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RuleKind {
    /// Time without an event.
    Idle,
    /// Nothing but the creation, by a session.
    Empty,
    PerSession,
    PerUser,
    PerChannel,
    /// Messages of a conversation.
    Messages,
    /// The end of a document.
    Documents,
}

impl RuleKind {
    pub(super) fn of(rule: &ExpiryRule) -> Self {
        match rule {
            ExpiryRule::Idle { .. } => Self::Idle,
            ExpiryRule::Empty { .. } => Self::Empty,
            ExpiryRule::PerSession { .. } => Self::PerSession,
            ExpiryRule::PerUser { .. } => Self::PerUser,
            ExpiryRule::PerChannel { .. } => Self::PerChannel,
            ExpiryRule::Long { .. } => Self::Messages,
        }
    }

    /// Its name in metrics.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Empty => "empty",
            Self::PerSession => "per_session",
            Self::PerUser => "per_user",
            Self::PerChannel => "per_channel",
            Self::Messages => "messages",
            Self::Documents => "documents",
        }
    }
}

/// The rules of the settings, each from its first page.
///
/// The read model supports at most [`KEPT_PER_OWNER_MAX`] conversations per owner. A larger limit, which the registry
/// rejects, gives no rule.
pub(super) fn rules_of(settings: &RetentionSettings, now: Timestamp) -> Vec<ExpiryRule> {
    let mut rules = Vec::new();
    if settings.idle_seconds_max > 0 {
        let idle = i64::try_from(settings.idle_seconds_max).unwrap_or(i64::MAX);
        let since = now.0.saturating_sub(idle.saturating_mul(NANOS_PER_SECOND));
        rules.push(ExpiryRule::Idle { since: Timestamp(since), after: None });
    }
    let keep = settings.conversations_per_owner_max;
    if (1..=KEPT_PER_OWNER_MAX).contains(&keep) {
        rules.push(ExpiryRule::PerSession { keep, after: None });
        rules.push(ExpiryRule::PerUser { keep, after: None });
        rules.push(ExpiryRule::PerChannel { keep, after: None });
    }
    if settings.messages_max > 0 {
        rules.push(ExpiryRule::Long { messages_max: settings.messages_max, after: None });
    }
    rules
}

/// The rule of every agent: a session's conversation without a message disappears. Visitors get new sessions without end, so what they only
/// create must not stay.
pub(super) fn rule_of_empty(now: Timestamp) -> ExpiryRule {
    let since = now.0.saturating_sub(EMPTY_SECONDS_MAX * NANOS_PER_SECOND);
    ExpiryRule::Empty { since: Timestamp(since), after: None }
}

/// A rule that continues where an earlier round ended.
pub(super) fn resumed(rule: &ExpiryRule, resume_point: ExpiryRule) -> ExpiryRule {
    match (rule, resume_point) {
        (ExpiryRule::PerSession { keep, .. }, ExpiryRule::PerSession { after, .. }) => {
            ExpiryRule::PerSession { keep: *keep, after }
        }
        (ExpiryRule::PerUser { keep, .. }, ExpiryRule::PerUser { after, .. }) => {
            ExpiryRule::PerUser { keep: *keep, after }
        }
        (ExpiryRule::PerChannel { keep, .. }, ExpiryRule::PerChannel { after, .. }) => {
            ExpiryRule::PerChannel { keep: *keep, after }
        }
        (ExpiryRule::Empty { since, .. }, ExpiryRule::Empty { after, .. }) => {
            ExpiryRule::Empty { since: *since, after }
        }
        (ExpiryRule::Long { messages_max, .. }, ExpiryRule::Long { after, .. }) => {
            ExpiryRule::Long { messages_max: *messages_max, after }
        }
        // The oldest conversations are erased, or must be tried again first.
        (rule, _) => rule.clone(),
    }
}

#[cfg(test)]
mod tests {
    use domain::SessionId;
    use registry::CONVERSATIONS_PER_OWNER_MAX;

    use super::*;

    const NOW: Timestamp = Timestamp(1_800_000_000 * NANOS_PER_SECOND);

    fn settings(messages_max: u64, per_owner: u32, idle_seconds_max: u64) -> RetentionSettings {
        RetentionSettings { messages_max, conversations_per_owner_max: per_owner, idle_seconds_max }
    }

    #[test]
    fn settings_give_rules() {
        let check = |settings: RetentionSettings, expected: &[ExpiryRule]| {
            assert_eq!(rules_of(&settings, NOW), expected, "{settings:?}");
        };
        let idle = |since| ExpiryRule::Idle { since: Timestamp(since), after: None };
        let per_owner = |keep| {
            [
                ExpiryRule::PerSession { keep, after: None },
                ExpiryRule::PerUser { keep, after: None },
                ExpiryRule::PerChannel { keep, after: None },
            ]
        };
        check(settings(0, 0, 0), &[]);
        check(settings(0, 0, 60), &[idle(NOW.0 - 60 * NANOS_PER_SECOND)]);
        check(settings(0, 0, u64::MAX), &[idle(NOW.0 - i64::MAX)]);
        check(settings(0, 1, 0), &per_owner(1));
        check(settings(0, KEPT_PER_OWNER_MAX, 0), &per_owner(KEPT_PER_OWNER_MAX));
        check(settings(0, KEPT_PER_OWNER_MAX + 1, 0), &[]);
        let long = ExpiryRule::Long { messages_max: u64::MAX, after: None };
        check(settings(u64::MAX, 0, 0), &[long]);
        let kinds = |settings: &RetentionSettings| {
            let rules = rules_of(settings, NOW);
            rules.iter().map(RuleKind::of).collect::<Vec<_>>()
        };
        assert_eq!(CONVERSATIONS_PER_OWNER_MAX, KEPT_PER_OWNER_MAX);
        assert_eq!(
            kinds(&settings(1, 1, 1)),
            [RuleKind::Idle, RuleKind::PerSession, RuleKind::PerUser, RuleKind::PerChannel, RuleKind::Messages]
        );
    }

    #[test]
    fn a_resumed_rule_has_the_current_limit() {
        let after = Some(SessionId::parse("s").unwrap());
        let per_session = |keep, after| ExpiryRule::PerSession { keep, after };
        let resume_point = per_session(5, after.clone());
        let rule = per_session(3, None);
        assert_eq!(resumed(&rule, resume_point.clone()), per_session(3, after));
        let idle = ExpiryRule::Idle { since: NOW, after: None };
        assert_eq!(resumed(&idle, resume_point), idle);
        let empty = |now, after: Option<&str>| {
            let after = after.map(|id| domain::ConversationId::parse(id).unwrap());
            ExpiryRule::Empty { since: Timestamp(now), after }
        };
        assert_eq!(rule_of_empty(NOW), empty(NOW.0 - 86_400 * NANOS_PER_SECOND, None));
        assert_eq!(resumed(&empty(2, None), empty(1, Some("c"))), empty(2, Some("c")));
    }
}
