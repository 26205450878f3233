//! The next step of an erasure in progress. Pure.
//!
//! An erasure has two parts. The tombstone hides the conversation from every reader, and then the caller gets a response.
//! The removal overwrites the commits before the tombstone, which can take minutes. A durable list has an entry for each
//! erasure, from before the tombstone is appended until only the tombstone is left. So a crash at any step is detected.
//!
//! The tombstone is appended directly after one commit, and the entry contains the sequence of that commit. So the last
//! commit of the conversation shows whether the tombstone exists, can still be appended, or can never be appended.

use std::time::Duration;

use crate::head::Status;
use crate::position::Sequence;

/// How long after its entry a tombstone may still reach the record. A publish ends with its request timeout, and a
/// connection that does not answer for some minutes is closed by the server.
pub const TOMBSTONE_IN_FLIGHT_MAX: Duration = Duration::from_hours(1);
/// How long an entry without a tombstone delays the acknowledgement of forks. It covers the search for forks (2.5 s), the
/// longest request timeout (60 s), a publish in flight (30 s), and a clock difference of up to 30 s.
pub const FORKS_HELD_MAX: Duration = Duration::from_mins(3);

/// The next step of an erasure in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureStep {
    /// Overwrite all commits before the tombstone, then remove the entry.
    Overwrite {
        /// The sequence of the tombstone.
        tombstone: Sequence,
    },
    /// The tombstone may still be appended: check again later.
    Wait,
    /// The tombstone can never be appended: remove the entry, and nothing else.
    Forget,
}

/// The next step of an erasure whose tombstone must follow the commit at `previous`.
///
/// `age` is the time since the entry was written; `last` is the conversation's last commit and its status, read from the
/// stream's leader after the entry was read.
#[must_use]
pub fn erasure_step(previous: Sequence, age: Duration, last: Option<(Sequence, Status)>) -> ErasureStep {
    match last {
        Some((tombstone, Status::Erased)) => ErasureStep::Overwrite { tombstone },
        // The append requires that `previous` is the last commit, so it fails from now on.
        Some((sequence, _)) if sequence > previous => ErasureStep::Forget,
        _ if age < TOMBSTONE_IN_FLIGHT_MAX => ErasureStep::Wait,
        _ => ErasureStep::Forget,
    }
}

/// What becomes of a fork that is appended, by one conversation that it reads through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkStep {
    /// The conversation is erased, or not there: the fork is not acknowledged.
    Undo,
    /// A tombstone may be in flight whose eraser has not found the fork: check again later.
    Wait,
    /// Every erasure that refuses forks and appends its tombstone later finds the fork.
    Acknowledge,
}

/// The next step for a fork that was appended.
///
/// `entry` is the erasure in progress of an ancestor: the commit that the tombstone must follow, and the time since the
/// entry was written. It is read after the fork's append. `last` is the ancestor's last
/// commit and its status, read from the stream's leader after `entry`.
#[must_use]
pub fn fork_step(entry: Option<(Sequence, Duration)>, last: Option<(Sequence, Status)>) -> ForkStep {
    match (last, entry) {
        (None | Some((_, Status::Erased)), _) => ForkStep::Undo,
        (Some((last, _)), Some((previous, age))) if last <= previous && age < FORKS_HELD_MAX => ForkStep::Wait,
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
            // The tombstone had to follow an earlier commit, so it can never be appended.
            check(Some((8, Status::Active)), age, ForkStep::Acknowledge);
        }
        for last in [(7, Status::Active), (7, Status::Archived), (6, Status::Active)] {
            check(Some(last), Some(young), ForkStep::Wait);
            check(Some(last), Some(FORKS_HELD_MAX), ForkStep::Acknowledge);
            check(Some(last), None, ForkStep::Acknowledge);
        }
    }

    #[test]
    fn the_last_commit_decides() {
        let check = |last: Option<(u64, Status)>, age: Duration, expected: ErasureStep| {
            let last = last.map(|(sequence, status)| (Sequence(sequence), status));
            assert_eq!(erasure_step(Sequence(7), age, last), expected, "{last:?} {age:?}");
        };
        let (young, old) = (TOMBSTONE_IN_FLIGHT_MAX.saturating_sub(Duration::from_nanos(1)), TOMBSTONE_IN_FLIGHT_MAX);
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
