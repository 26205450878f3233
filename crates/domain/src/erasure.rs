//! What to do about an erasure in progress. Pure.
//!
//! An erasure has two parts. The tombstone makes the conversation gone for every reader; the caller is answered then.
//! The removal overwrites the commits before it, which can take minutes. An entry in a durable list names each erasure
//! from before its tombstone is appended until nothing but the tombstone is left, so a crash at any step is found again.
//!
//! The tombstone is appended behind one exact commit, which the entry names. So the last commit of the conversation tells
//! whether the tombstone is there, can still come, or can never come.

use std::time::Duration;

use crate::conversation::Status;
use crate::position::Sequence;

/// How long after its entry a tombstone may still reach the record. A publish ends with its request timeout, and a
/// connection that does not answer for some minutes is closed by the server.
pub const TOMBSTONE_IN_FLIGHT_MAX: Duration = Duration::from_hours(1);

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

#[cfg(test)]
mod tests {
    use super::*;

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
