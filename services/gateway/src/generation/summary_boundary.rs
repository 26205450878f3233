//! Whether a history is due for a summary, and up to where. Pure.

use domain::event::Role;
use domain::{CallId, Fact, RecordedEvent, Version};

/// When a history is summarised, and how much of it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// From how many tokens since the last summary on.
    pub(super) tokens_min: u64,
    /// How many tokens of the newest history stay as they are, at least.
    pub(super) tokens_kept: u64,
}

/// An event as far as it counts here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Weighed {
    pub(super) version: Version,
    pub(super) tokens: u64,
    pub(super) step: Step,
}

/// What an event does to the turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// A turn of the user's begins with it.
    Asks,
    /// The assistant says something.
    Answers,
    /// A call is made.
    Calls(CallId),
    /// A call's result comes.
    Returns(CallId),
    /// Something else is said.
    Other,
}

impl Weighed {
    /// Counts an event.
    pub(super) fn of(event: &RecordedEvent) -> Self {
        let step = match &event.event.fact {
            Fact::MessageAppended(message) => match message.role {
                Role::User => Step::Asks,
                Role::Assistant => Step::Answers,
                Role::System | Role::Developer => Step::Other,
            },
            Fact::ToolCalled(called) => Step::Calls(called.call_id.clone()),
            Fact::ToolReturned(returned) => Step::Returns(returned.call_id.clone()),
            Fact::Annotation(_) | Fact::Lifecycle(_) => Step::Other,
        };
        let tokens = match event.event.tokens.own {
            0 => tokens::of_fact(&event.event.fact),
            counted => counted,
        };
        Self {
            version: event.version,
            tokens: tokens.into(),
            step,
        }
    }
}

/// The last version that a new summary stands for: the newest turn boundary that leaves enough, and no call without its
/// result. `None`: none is due.
///
/// `newest_first` holds the messages, calls and results after the last summary's `through`.
pub(super) fn through(newest_first: &[Weighed], due: Due) -> Option<Version> {
    let sum: u64 = newest_first.iter().map(|event| event.tokens).sum();
    if sum < due.tokens_min {
        return None;
    }
    let waits_from = waits_from(newest_first);
    let mut kept = 0_u64;
    // Calls whose results came after the place that is reached.
    let mut open: Vec<&CallId> = Vec::new();
    let mut events = newest_first.iter();
    for event in events.by_ref() {
        kept = kept.saturating_add(event.tokens);
        match &event.step {
            Step::Returns(id) => open.push(id),
            Step::Calls(id) => open.retain(|open| *open != id),
            Step::Asks => {
                let waits = waits_from.is_some_and(|call| call < event.version);
                if kept >= due.tokens_kept && open.is_empty() && !waits {
                    return events.next().map(|before| before.version);
                }
            }
            Step::Answers | Step::Other => {}
        }
    }
    None
}

/// The first call that still waits for its result: one of the assistant's newest turn. Those of older turns were left: no
/// summary waits for them.
fn waits_from(newest_first: &[Weighed]) -> Option<Version> {
    let mut answered: Vec<&CallId> = Vec::new();
    let (mut waits, mut in_turn) = (None, false);
    for event in newest_first {
        match &event.step {
            Step::Calls(id) => {
                in_turn = true;
                if !answered.contains(&id) {
                    waits = Some(event.version);
                }
                answered.retain(|answered| *answered != id);
            }
            Step::Answers => break,
            _ if in_turn => break,
            Step::Returns(id) => answered.push(id),
            Step::Asks | Step::Other => {}
        }
    }
    waits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events from version 1 on, as words: `u`, `a` and `s` are said, `c1` calls, `r1` answers; 10 tokens each.
    fn check(words: &str, (tokens_min, tokens_kept): (u64, u64), expected: Option<u64>) {
        let step = |word: &str| match word.split_at(1) {
            ("u", _) => Step::Asks,
            ("a", _) => Step::Answers,
            ("c", id) => Step::Calls(CallId::parse(id).unwrap()),
            ("r", id) => Step::Returns(CallId::parse(id).unwrap()),
            _ => Step::Other,
        };
        let words = words.split_whitespace();
        let weighed = (1..).zip(words.clone()).map(|(version, word)| Weighed {
            version: Version(version),
            tokens: 10,
            step: step(word),
        });
        let mut weighed: Vec<_> = weighed.collect();
        weighed.reverse();
        let due = Due {
            tokens_min,
            tokens_kept,
        };
        let words: Vec<&str> = words.collect();
        assert_eq!(through(&weighed, due), expected.map(Version), "{words:?}");
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
    fn a_summary_parts_no_call_from_its_result() {
        check("u a u c1 r1 a u", (1, 1), Some(6));
        // The user spoke while the call waited for an approval.
        check("u a u c1 u r1 a", (1, 1), Some(2));
        check("u a u c1 u a r1 a u a", (1, 1), Some(8));
        check("u a u c1 u a r1 a u a", (1, 30), Some(2));
        check("u a u c1 c2 r2 u a r1", (1, 1), Some(2));
        // It still waits.
        check("u a u c1 u", (1, 1), Some(2));
        check("u a u a c1 c2 r2 u", (1, 1), Some(2));
        check("u c1 u", (1, 1), None);
        // It was left: a result that comes all the same keeps its call by itself.
        check("u a u c1 u a u", (1, 1), Some(6));
        check("u c1 u c2 r2 u", (1, 1), Some(5));
        // The call is older than what is weighed.
        check("u a r1 u a", (1, 1), Some(3));
        check("u a u r1", (1, 1), None);
        // An id used again is another call.
        check("u c1 r1 u c1 u r1", (1, 1), Some(3));
    }
}
