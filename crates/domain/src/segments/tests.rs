use proptest::prelude::*;
use uuid::Uuid;

use super::*;
use crate::event::{Event, EventTokens, HistoryRewound, MessageAppended, Role};
use crate::id::{CommitId, EventId};
use crate::time::Timestamp;

/// One conversation of a lineage: the number of inherited versions of its parent, and its events.
#[derive(Debug, Clone)]
struct Recorded {
    inherits: u64,
    events: Vec<RecordedEvent>,
}

fn event(version: u64, tokens: EventTokens, rewind_to: Option<u64>) -> RecordedEvent {
    let fact = match rewind_to {
        Some(to) => Fact::from(HistoryRewound { to: Version(to) }),
        None => Fact::MessageAppended(MessageAppended::new(Role::User, Vec::new())),
    };
    RecordedEvent {
        version: Version(version),
        commit: CommitId(Uuid::nil()),
        recorded_at: Timestamp(0),
        event: Event { id: EventId(Uuid::nil()), occurred_at: None, metadata: None, tokens, fact },
    }
}

/// A lineage, the oldest first. Each step is an event: a message with a number of tokens, or a rewind by a number of
/// versions.
fn lineage(conversations: &[(u64, Vec<(bool, u64)>)]) -> Vec<Recorded> {
    let mut lineage: Vec<Recorded> = Vec::new();
    for (inherits, steps) in conversations {
        let parent_last =
            lineage.last().map_or(0, |parent| parent.inherits + u64::try_from(parent.events.len()).unwrap());
        // A fork starts at or after the own events of its parent: its parent is the conversation that recorded the version.
        let parent_first = lineage.last().map_or(0, |parent| parent.inherits + 1);
        let inherits = if parent_last < parent_first {
            parent_last
        } else {
            parent_first + inherits % (parent_last - parent_first + 1)
        };
        let (mut version, mut through) = (inherits, 0);
        let events = steps
            .iter()
            .map(|(is_rewind, number)| {
                version += 1;
                let rewind_to = is_rewind.then(|| (version - 1).saturating_sub(number % 5));
                let own = if *is_rewind { 0 } else { number % 40 + 1 };
                through += own;
                let own = u32::try_from(own).unwrap();
                event(version, EventTokens { own, through }, rewind_to)
            })
            .collect();
        lineage.push(Recorded { inherits, events });
    }
    lineage
}

/// All events of the lineage of the last conversation, oldest first, with the index of the ancestor.
fn held(lineage: &[Recorded]) -> Vec<(usize, RecordedEvent)> {
    let mut held = Vec::new();
    for (index, one) in lineage.iter().enumerate() {
        held.retain(|(_, event): &(usize, RecordedEvent)| event.version.0 <= one.inherits);
        let ancestor = lineage.len() - 1 - index;
        held.extend(one.events.iter().map(|event| (ancestor, event.clone())));
    }
    held
}

fn inherited(lineage: &[Recorded]) -> Vec<Inherited> {
    let (_, ancestors) = lineage.split_last().unwrap();
    let mut last = u64::MAX;
    let mut inherited = Vec::new();
    for (ancestor, child) in ancestors.iter().zip(lineage.iter().skip(1)).rev() {
        last = last.min(child.inherits);
        let events = ancestor.events.iter();
        let mut through = events.rev().filter(|event| event.version.0 <= last);
        inherited.push(Inherited {
            first: Version(ancestor.inherits + 1),
            last: Version(last),
            tokens_through: through.next().map_or(0, |event| event.event.tokens.through),
        });
    }
    inherited
}

/// The same by replay: each rewind removes the events after the version to which it returns.
fn replayed(held: &[(usize, RecordedEvent)]) -> Vec<(usize, RecordedEvent)> {
    let mut shown: Vec<(usize, RecordedEvent)> = Vec::new();
    let mut history: Vec<Vec<(usize, RecordedEvent)>> = Vec::new();
    for (ancestor, event) in held {
        if let Fact::Annotation(Annotation::HistoryRewound(rewound)) = &event.event.fact {
            // The history at that version, including events that were hidden later.
            let at =
                history.iter().rev().find(|shown| shown.last().is_some_and(|(_, last)| last.version == rewound.to));
            shown = at.cloned().unwrap_or_default();
        }
        shown.push((*ancestor, event.clone()));
        history.push(shown.clone());
    }
    shown
}

fn conversations() -> impl Strategy<Value = Vec<(u64, Vec<(bool, u64)>)>> {
    let steps = prop::collection::vec((prop::bool::weighted(0.2), 0_u64..1_000), 0..12);
    prop::collection::vec((0_u64..100, steps), 1..5)
}

#[test]
fn a_segment_is_cut_at_a_version() {
    let ancestor = Inherited { first: Version(3), last: Version(9), tokens_through: 0 };
    let segment = Segments::recorded(&[ancestor]).within(Version(3), Version(9)).next().unwrap();
    for (to, last) in [(3, 3), (8, 8), (9, 9), (10, 9)] {
        let part = segment.up_to(Version(to));
        assert_eq!((part.ancestor, part.first, part.last), (1, Version(3), Version(last)), "{to}");
    }
}

proptest! {
    #[test]
    fn segments_are_what_a_replay_shows(conversations in conversations()) {
        let lineage = lineage(&conversations);
        let held = held(&lineage);
        let recorded = Segments::recorded(&inherited(&lineage));
        for (ancestor, event) in &held {
            prop_assert_eq!(recorded.ancestor_of(event.version), Some(*ancestor));
        }
        let newest_first: Vec<_> = held.iter().rev().map(|(_, event)| event.clone()).collect();
        let effective = recorded.without_rewound(&newest_first);
        let expected = replayed(&held);
        let shown: Vec<_> = held
            .iter()
            .filter(|(_, event)| effective.contains(event.version))
            .cloned()
            .collect();
        prop_assert_eq!(&shown, &expected);
        for (_, event) in &held {
            let version = event.version;
            let last = expected.iter().rev().find(|(_, shown)| shown.version <= version);
            let last = last.map_or(Version::ZERO, |(_, shown)| shown.version);
            prop_assert_eq!(effective.last_at(version), last);
            let is_hidden = effective.hidden().any(|(first, last)| first <= version && version <= last);
            prop_assert_eq!(is_hidden, !effective.contains(version));
        }
    }

    #[test]
    fn segments_are_ascending_and_cut_to_a_range(
        conversations in conversations(),
        (from, to) in (0_u64..40, 0_u64..40),
    ) {
        let lineage = lineage(&conversations);
        let held = held(&lineage);
        let newest_first: Vec<_> = held.iter().rev().map(|(_, event)| event.clone()).collect();
        let effective = Segments::recorded(&inherited(&lineage)).without_rewound(&newest_first);
        let (from, to) = (Version(from), Version(to));
        let forward: Vec<Segment> = effective.within(from, to).collect();
        let mut backward: Vec<Segment> = effective.within(from, to).rev().collect();
        backward.reverse();
        prop_assert_eq!(&forward, &backward);
        let versions = (from.0..=to.0).filter(|version| *version > 0).map(Version);
        for version in versions {
            let is_within = forward.iter().any(|one| one.first <= version && version <= one.last);
            prop_assert_eq!(is_within, effective.contains(version));
        }
        for (one, next) in forward.iter().zip(forward.iter().skip(1)) {
            prop_assert!(one.first <= one.last && one.last < next.first);
        }
    }

    #[test]
    fn tokens_count_as_if_hidden_events_had_not_been_recorded(conversations in conversations()) {
        let lineage = lineage(&conversations);
        let held = held(&lineage);
        let newest_first: Vec<_> = held.iter().rev().map(|(_, event)| event.clone()).collect();
        let effective = Segments::recorded(&inherited(&lineage)).without_rewound(&newest_first);
        let through: u64 = held.iter().map(|(_, event)| u64::from(event.event.tokens.own)).sum();
        let mut expected = through;
        let mut counts = effective.token_counts();
        for event in newest_first.into_iter().filter(|event| effective.contains(event.version)) {
            let own = u64::from(event.event.tokens.own);
            let counted = counts.count(event.clone());
            prop_assert_eq!(counted.event.tokens.through, expected, "{:?}", event.version);
            expected -= own;
        }
    }
}
