//! Whether a history is due for a summary, and up to where. Pure.

use domain::event::Role;
use domain::{Fact, RecordedEvent, Version};

/// When a history is summarised, and how much of it stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Due {
    /// From how many tokens since the last summary on.
    pub(super) tokens_min: u64,
    /// How many tokens of the newest history stay as they are, at least.
    pub(super) tokens_kept: u64,
}

/// An event as far as it counts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weighed {
    pub(super) version: Version,
    pub(super) tokens: u64,
    /// Whether a turn of the user's begins with it.
    pub(super) begins_turn: bool,
}

impl Weighed {
    /// Counts an event.
    pub(super) fn of(event: &RecordedEvent) -> Self {
        let begins_turn = matches!(
            &event.event.fact,
            Fact::MessageAppended(message) if message.role == Role::User
        );
        let tokens = match event.event.tokens.own {
            0 => tokens::of_fact(&event.event.fact),
            counted => counted,
        };
        Self {
            version: event.version,
            tokens: tokens.into(),
            begins_turn,
        }
    }
}

/// The last version that a new summary stands for: the newest turn boundary that leaves enough. `None`: none is due.
///
/// `newest_first` holds the messages, calls and results after the last summary's `through`.
pub(super) fn through(newest_first: &[Weighed], due: Due) -> Option<Version> {
    let sum: u64 = newest_first.iter().map(|event| event.tokens).sum();
    if sum < due.tokens_min {
        return None;
    }
    let mut kept = 0_u64;
    let mut events = newest_first.iter();
    for event in events.by_ref() {
        kept = kept.saturating_add(event.tokens);
        if event.begins_turn && kept >= due.tokens_kept {
            return events.next().map(|before| before.version);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: bool = true;
    const OTHER: bool = false;

    /// Events from version 1 on: tokens, and whether each begins a turn.
    fn check(events: &[(u64, bool)], (tokens_min, tokens_kept): (u64, u64), expected: Option<u64>) {
        let weighed = (1..).zip(events).map(|(version, event)| Weighed {
            version: Version(version),
            tokens: event.0,
            begins_turn: event.1,
        });
        let mut weighed: Vec<_> = weighed.collect();
        weighed.reverse();
        let due = Due {
            tokens_min,
            tokens_kept,
        };
        assert_eq!(through(&weighed, due), expected.map(Version), "{events:?}");
    }

    #[test]
    fn a_summary_ends_before_a_turn_and_leaves_enough() {
        let turns = [(10, USER), (10, OTHER), (10, USER), (10, OTHER)];
        check(&[], (1, 1), None);
        check(&turns, (41, 1), None);
        check(&turns, (40, 1), Some(2));
        check(&turns, (40, 20), Some(2));
        check(&turns, (40, 21), None);
        check(&turns[..2], (20, 1), None);
        let long = [turns, turns].concat();
        check(&long, (80, 21), Some(4));
        check(&long, (80, 40), Some(4));
        check(&long, (80, 41), Some(2));
    }
}
