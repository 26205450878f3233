//! The places of events in a history that was rewound: what is passed over takes no room.
//!
//! Tokens are counted through everything that was recorded. With a part of it left out, what stands before that part moves
//! up to where the history went on, so that the budget's line lies where it would without the part.

use domain::passed_over::Span;
use domain::{PassedOver, RecordedEvent};

/// Moves events up past what is passed over.
#[derive(Debug)]
pub struct Moved<'a> {
    /// Those not met yet, newest first.
    spans: std::slice::Iter<'a, Span>,
    next: Option<&'a Span>,
    /// By how many tokens events move up.
    by: u64,
}

impl<'a> Moved<'a> {
    /// Nothing is met yet.
    #[must_use]
    pub fn past(passed: &'a PassedOver) -> Self {
        let mut spans = passed.spans().iter();
        let next = spans.next();
        Self { spans, next, by: 0 }
    }

    /// An event at its place. `through` is a rewind's count of tokens as the events' own are counted; events come newest
    /// first, and none of them is passed over.
    #[must_use]
    pub fn up(
        &mut self,
        mut event: RecordedEvent,
        through: impl Fn(&Span) -> u64,
    ) -> RecordedEvent {
        let mut met = None;
        while let Some(span) = self.next.filter(|span| event.version <= span.to) {
            met.get_or_insert(span);
            self.next = self.spans.next();
        }
        let place = &mut event.event.tokens.through;
        if let Some(span) = met {
            self.by += through(span).saturating_sub(*place);
        }
        *place += self.by;
        event
    }
}

#[cfg(test)]
mod tests {
    use domain::event::{HistoryRewound, MessageAppended, Role};
    use domain::{CommitId, Event, EventId, EventTokens, Fact, Timestamp, Version};
    use uuid::Uuid;

    use super::*;

    /// Messages of 10 tokens each at versions 1, 2, 3 …, but for rewinds (version, to); what is read, with its place.
    fn check(count: u64, rewinds: &[(u64, u64)], expected: &[(u64, u64)]) {
        let mut through = 0;
        let event = |version| {
            let to = rewinds.iter().find(|(at, _)| *at == version);
            let fact = match to {
                Some((_, to)) => Fact::HistoryRewound(HistoryRewound { to: Version(*to) }),
                None => Fact::MessageAppended(MessageAppended::said(Role::User, Vec::new())),
            };
            through += if to.is_some() { 0 } else { 10 };
            RecordedEvent {
                version: Version(version),
                commit: CommitId(Uuid::nil()),
                recorded_at: Timestamp(0),
                event: Event {
                    id: EventId(Uuid::nil()),
                    occurred_at: None,
                    metadata: None,
                    tokens: EventTokens { own: 10, through },
                    fact,
                },
            }
        };
        let mut events: Vec<RecordedEvent> = (1..=count).map(event).collect();
        events.reverse();
        let passed = PassedOver::of(&events);
        let mut moved = Moved::past(&passed);
        let read = events
            .into_iter()
            .filter(|event| matches!(event.event.fact, Fact::MessageAppended(_)))
            .filter(|event| !passed.hides(event.version))
            .map(|event| moved.up(event, |span| span.tokens_through))
            .map(|event| (event.version.0, event.event.tokens.through));
        assert_eq!(read.collect::<Vec<_>>(), expected, "{rewinds:?}");
    }

    #[test]
    fn what_is_passed_over_takes_no_room() {
        check(3, &[], &[(3, 30), (2, 20), (1, 10)]);
        check(6, &[(5, 2)], &[(6, 50), (2, 40), (1, 30)]);
        // The rewind is the newest of all.
        check(5, &[(5, 2)], &[(2, 40), (1, 30)]);
        // The same twice, and one after the other.
        check(8, &[(5, 2), (7, 2)], &[(8, 60), (2, 50), (1, 40)]);
        check(
            10,
            &[(4, 2), (8, 6)],
            &[(10, 80), (9, 70), (6, 60), (5, 50), (2, 40), (1, 30)],
        );
        // Nothing is read between two rewinds.
        check(8, &[(4, 2), (7, 4)], &[(8, 60), (2, 50), (1, 40)]);
    }
}
