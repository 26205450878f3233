//! What to do about an erasure in progress. Pure.
//!
//! An erasure has two parts. The tombstone makes the conversation gone for every reader; the caller is answered then.
//! The removal overwrites the commits before it, which can take minutes. An entry in a durable list names each erasure
//! from before its tombstone is appended until nothing but the tombstone is left, so a crash at any step is found again.
//!
//! The tombstone is appended behind one exact commit, which the entry names. So the last commit of the conversation tells
//! whether the tombstone is there, can still come, or can never come.

use std::time::Duration;

use crate::head::Status;
use crate::position::Sequence;

/// How long after its entry a tombstone may still reach the record. A publish ends with its request timeout, and a
/// connection that does not answer for some minutes is closed by the server.
pub const TOMBSTONE_IN_FLIGHT_MAX: Duration = Duration::from_hours(1);
/// How long an entry without a tombstone keeps forks of its conversation from being acknowledged. It covers the look for forks
/// (2.5 s), the longest request timeout (60 s), a publish on its way (30 s), and clocks that are off by up to 30 s.
pub const FORKS_HELD_MAX: Duration = Duration::from_mins(3);

/// The next step of an erasure in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureStep {
    /// Overwrite all commits before the tombstone, then remove the entry.
    Overwrite {
        /// The sequence of the tombstone.
        tombstone: Sequence,
    },
    /// The tombstone may still come: look again later.
    Wait,
    /// The tombstone never comes: remove the entry, and nothing else.
    Forget,
}

/// The next step of an erasure whose tombstone was to follow the commit at `behind`.
///
/// `age` is the time since the entry was written; `last` is the conversation's last commit and its status, read from the
/// stream's leader after the entry was read.
#[must_use]
pub fn erasure_step(
    behind: Sequence,
    age: Duration,
    last: Option<(Sequence, Status)>,
) -> ErasureStep {
    match last {
        Some((tombstone, Status::Erased)) => ErasureStep::Overwrite { tombstone },
        // The append is conditional on `behind` being the last commit: it fails from now on.
        Some((sequence, _)) if sequence > behind => ErasureStep::Forget,
        _ if age < TOMBSTONE_IN_FLIGHT_MAX => ErasureStep::Wait,
        _ => ErasureStep::Forget,
    }
}

/// What becomes of a fork that is appended, by one conversation that it reads through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkStep {
    /// The conversation is erased, or not there: the fork is not acknowledged.
    Undo,
    /// A tombstone may be on its way whose eraser has not seen the fork: look again later.
    Wait,
    /// An erasure that refuses forks, and appends its tombstone later, sees the fork.
    Acknowledge,
}

/// What becomes of a fork that is appended.
///
/// `entry` is the erasure in progress of a conversation that the fork reads through: the commit that the tombstone is to
/// follow, and the time since the entry was written. It is read after the fork's append. `last` is that conversation's last
/// commit and its status, read from the stream's leader after `entry`.
#[must_use]
pub fn fork_step(
    entry: Option<(Sequence, Duration)>,
    last: Option<(Sequence, Status)>,
) -> ForkStep {
    match (last, entry) {
        (None | Some((_, Status::Erased)), _) => ForkStep::Undo,
        (Some((last, _)), Some((behind, age))) if last <= behind && age < FORKS_HELD_MAX => {
            ForkStep::Wait
        }
        (Some(_), _) => ForkStep::Acknowledge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_without_a_tombstone_holds_forks_for_a_while() {
        let check = |last: Option<(u64, Status)>, age: Option<Duration>, expected: ForkStep| {
            let last = last.map(|(sequence, status)| (Sequence(sequence), status));
            let entry = age.map(|age| (Sequence(7), age));
            assert_eq!(fork_step(entry, last), expected, "{last:?} {age:?}");
        };
        let young = FORKS_HELD_MAX.saturating_sub(Duration::from_nanos(1));
        for age in [None, Some(young), Some(FORKS_HELD_MAX)] {
            check(None, age, ForkStep::Undo);
            check(Some((9, Status::Erased)), age, ForkStep::Undo);
            // The tombstone was to follow an earlier commit: it never comes.
            check(Some((8, Status::Active)), age, ForkStep::Acknowledge);
        }
        for last in [
            (7, Status::Active),
            (7, Status::Archived),
            (6, Status::Active),
        ] {
            check(Some(last), Some(young), ForkStep::Wait);
            check(Some(last), Some(FORKS_HELD_MAX), ForkStep::Acknowledge);
            check(Some(last), None, ForkStep::Acknowledge);
        }
    }

    #[test]
    fn the_last_commit_decides() {
        let check = |last: Option<(u64, Status)>, age: Duration, expected: ErasureStep| {
            let last = last.map(|(sequence, status)| (Sequence(sequence), status));
            assert_eq!(
                erasure_step(Sequence(7), age, last),
                expected,
                "{last:?} {age:?}"
            );
        };
        let (young, old) = (
            TOMBSTONE_IN_FLIGHT_MAX.saturating_sub(Duration::from_nanos(1)),
            TOMBSTONE_IN_FLIGHT_MAX,
        );
        for age in [young, old] {
            let tombstone = Sequence(9);
            let expected = ErasureStep::Overwrite { tombstone };
            check(Some((9, Status::Erased)), age, expected);
            check(Some((9, Status::Active)), age, ErasureStep::Forget);
            check(Some((9, Status::Archived)), age, ErasureStep::Forget);
        }
        for last in [Some((7, Status::Active)), Some((6, Status::Active)), None] {
            check(last, young, ErasureStep::Wait);
            check(last, old, ErasureStep::Forget);
        }
    }
}
