//! What of a history contexts and pages pass over: what lies between a rewind and the version that it went back to.

use crate::event::{Fact, RecordedEvent};
use crate::position::Version;

/// The parts of a history that are passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassedOver(Vec<Span>);

/// One such part: the events after `to` and before `at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The version that the rewind went back to.
    pub to: Version,
    /// The version of the rewind.
    pub at: Version,
    /// The tokens of the conversation up to the rewind.
    pub tokens_through: u64,
}

impl PassedOver {
    /// What the rewinds of a history pass over. `newest_first` has strictly falling versions; other events may be among
    /// them. A rewind that is itself passed over does nothing.
    #[must_use]
    pub fn of<'a>(newest_first: impl IntoIterator<Item = &'a RecordedEvent>) -> Self {
        let mut passed = Self::default();
        for event in newest_first {
            if let Fact::HistoryRewound(rewound) = &event.event.fact
                && !passed.hides(event.version)
            {
                passed.0.push(Span {
                    to: rewound.to,
                    at: event.version,
                    tokens_through: event.event.tokens.through,
                });
            }
        }
        passed
    }

    /// Whether an event is passed over.
    #[must_use]
    pub fn hides(&self, version: Version) -> bool {
        self.over(version).is_some()
    }

    /// The last version at or before this one that is not passed over.
    #[must_use]
    pub fn shown(&self, version: Version) -> Version {
        self.over(version).map_or(version, |span| span.to)
    }

    /// The parts, the newest first; none reaches into another.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether everything is read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn over(&self, version: Version) -> Option<&Span> {
        let first = self.0.partition_point(|span| span.to >= version);
        self.0.get(first).filter(|span| version < span.at)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::event::{Event, EventTokens, HistoryRewound};
    use crate::id::{CommitId, EventId};
    use crate::time::Timestamp;

    /// Rewinds as (version, to), oldest first, and what is still read of versions 1 to 12.
    fn check(rewinds: &[(u64, u64)], expected: &[u64]) {
        let event = |(version, to): &(u64, u64)| RecordedEvent {
            version: Version(*version),
            commit: CommitId(Uuid::nil()),
            recorded_at: Timestamp(0),
            event: Event {
                id: EventId(Uuid::nil()),
                occurred_at: None,
                metadata: None,
                tokens: EventTokens::default(),
                fact: Fact::HistoryRewound(HistoryRewound { to: Version(*to) }),
            },
        };
        let events: Vec<RecordedEvent> = rewinds.iter().rev().map(event).collect();
        let passed = PassedOver::of(&events);
        let shown: Vec<u64> = (1..=12).filter(|v| !passed.hides(Version(*v))).collect();
        assert_eq!(shown, expected, "{rewinds:?}");
        for version in 1..=12 {
            let last = shown.iter().rfind(|shown| **shown <= version);
            let last = last.copied().unwrap_or_default();
            assert_eq!(passed.shown(Version(version)), Version(last), "{rewinds:?}");
        }
    }

    #[test]
    fn a_history_reads_as_it_did_at_the_version_that_it_went_back_to() {
        check(&[], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        check(&[(6, 2)], &[1, 2, 6, 7, 8, 9, 10, 11, 12]);
        // The same again, from the same version.
        check(&[(6, 2), (9, 2)], &[1, 2, 9, 10, 11, 12]);
        // Further back than before, and not as far.
        check(&[(6, 4), (9, 2)], &[1, 2, 9, 10, 11, 12]);
        check(&[(6, 2), (9, 7)], &[1, 2, 6, 7, 9, 10, 11, 12]);
        // Back to the rewind itself, and to before it: what it passed over is read again.
        check(&[(6, 2), (9, 6)], &[1, 2, 6, 9, 10, 11, 12]);
        check(&[(6, 2), (9, 5)], &[1, 2, 3, 4, 5, 9, 10, 11, 12]);
        // To the event before it: nothing is passed over.
        check(&[(6, 5)], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    }
}
