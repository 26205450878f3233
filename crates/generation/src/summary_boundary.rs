//! Decides whether a summary is due, and which version it ends with. Pure.

use domain::event::Role;
use domain::{CallId, Fact, RecordedEvent, Version};

/// When a history is summarised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SummaryRule {
    /// Minimum number of tokens since the last summary.
    pub(super) tokens_min: u64,
    /// Minimum number of tokens of the newest history that stay outside the summary.
    pub(super) tokens_kept: u64,
}

/// The tokens of an event, and its role in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventWeight {
    pub(super) version: Version,
    pub(super) tokens: u64,
    pub(super) role: EventRole,
}

/// The role of an event in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EventRole {
    /// A message of the user: a turn begins.
    User,
    Assistant,
    Call(CallId),
    Result(CallId),
    Other,
}

impl EventWeight {
    /// The weight of an event.
    pub(super) fn of(event: &RecordedEvent) -> Self {
        let role = match &event.event.fact {
            Fact::MessageAppended(message) => match message.role {
                Role::User => EventRole::User,
                Role::Assistant => EventRole::Assistant,
                Role::System | Role::Developer => EventRole::Other,
            },
            Fact::ToolCalled(called) => EventRole::Call(called.call_id.clone()),
            Fact::ToolReturned(returned) => EventRole::Result(returned.call_id.clone()),
            Fact::Annotation(_) | Fact::Lifecycle(_) => EventRole::Other,
        };
        let tokens = match event.event.tokens.own {
            0 => tokens::count_fact(&event.event.fact),
            counted => counted,
        };
        Self { version: event.version, tokens: tokens.into(), role }
    }
}

/// The last version of a new summary: the newest turn boundary that keeps enough tokens and separates no call from its
/// result. `None`: none is due.
///
/// `newest_first` holds the messages, calls and results after the last summary.
pub(super) fn boundary(newest_first: &[EventWeight], rule: SummaryRule) -> Option<Version> {
    let sum: u64 = newest_first.iter().map(|event| event.tokens).sum();
    if sum < rule.tokens_min {
        return None;
    }
    let first_open = first_open_call(newest_first);
    let mut kept = 0_u64;
    // Calls of later results.
    let mut calls: Vec<&CallId> = Vec::new();
    let mut events = newest_first.iter();
    for event in events.by_ref() {
        kept = kept.saturating_add(event.tokens);
        match &event.role {
            EventRole::Result(id) => calls.push(id),
            EventRole::Call(id) => calls.retain(|call| *call != id),
            EventRole::User => {
                let is_open = first_open.is_some_and(|call| call < event.version);
                if kept >= rule.tokens_kept && calls.is_empty() && !is_open {
                    return events.next().map(|before| before.version);
                }
            }
            EventRole::Assistant | EventRole::Other => {}
        }
    }
    None
}

/// The first open call of the assistant's newest turn. Open calls of older turns are abandoned and do not delay a summary.
fn first_open_call(newest_first: &[EventWeight]) -> Option<Version> {
    let mut answered: Vec<&CallId> = Vec::new();
    let (mut first_open, mut in_turn) = (None, false);
    for event in newest_first {
        match &event.role {
            EventRole::Call(id) => {
                in_turn = true;
                if !answered.contains(&id) {
                    first_open = Some(event.version);
                }
                answered.retain(|answered| *answered != id);
            }
            EventRole::Assistant => break,
            _ if in_turn => break,
            EventRole::Result(id) => answered.push(id),
            EventRole::User | EventRole::Other => {}
        }
    }
    first_open
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events from version 1, one per word: `u` user, `a` assistant, `s` system, `c1` call, `r1` result; 10 tokens each.
    fn check(words: &str, (tokens_min, tokens_kept): (u64, u64), expected: Option<u64>) {
        let role_of = |word: &str| match word.split_at(1) {
            ("u", _) => EventRole::User,
            ("a", _) => EventRole::Assistant,
            ("c", id) => EventRole::Call(CallId::parse(id).unwrap()),
            ("r", id) => EventRole::Result(CallId::parse(id).unwrap()),
            _ => EventRole::Other,
        };
        let mut events: Vec<_> = (1..)
            .zip(words.split_whitespace())
            .map(|(version, word)| EventWeight { version: Version(version), tokens: 10, role: role_of(word) })
            .collect();
        events.reverse();
        let rule = SummaryRule { tokens_min, tokens_kept };
        assert_eq!(boundary(&events, rule), expected.map(Version), "{words}");
    }

    #[test]
    fn a_summary_ends_before_a_turn_and_leaves_enough() {
        check("", (1, 1), None);
        check("u a u a", (41, 1), None);
        check("u a u a", (40, 1), Some(2));
        check("u a u a", (40, 20), Some(2));
        check("u a u a", (40, 21), None);
        check("u a", (20, 1), None);
        check("u a u a u a u a", (80, 21), Some(4));
        check("u a u a u a u a", (80, 40), Some(4));
        check("u a u a u a u a", (80, 41), Some(2));
    }

    #[test]
    fn a_summary_separates_no_call_from_its_result() {
        check("u a u c1 r1 a u", (1, 1), Some(6));
        // The user wrote a message while the call waited for an approval.
        check("u a u c1 u r1 a", (1, 1), Some(2));
        check("u a u c1 u a r1 a u a", (1, 1), Some(8));
        check("u a u c1 u a r1 a u a", (1, 30), Some(2));
        check("u a u c1 c2 r2 u a r1", (1, 1), Some(2));
        // The call is open.
        check("u a u c1 u", (1, 1), Some(2));
        check("u a u a c1 c2 r2 u", (1, 1), Some(2));
        check("u c1 u", (1, 1), None);
        // The call is abandoned. If its result arrives later, it is kept together with the call.
        check("u a u c1 u a u", (1, 1), Some(6));
        check("u c1 u c2 r2 u", (1, 1), Some(5));
        // The call is older than the events.
        check("u a r1 u a", (1, 1), Some(3));
        check("u a u r1", (1, 1), None);
        // A repeated id is another call.
        check("u c1 r1 u c1 u r1", (1, 1), Some(3));
    }
}
