//! What holds for every history.

use std::convert::Infallible;

use context::{Call, CallResult, Extent, MessageCount, Reach, Selection, Unit, select};
use domain::event::Role;
use domain::{EventTokens, Fact, RecordedEvent, Version};
use proptest::prelude::*;

use crate::notation::{after_summary, fact, recorded, whole, window};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn selection_is_the_longest_suffix_of_whole_units(
        events in histories(120), messages_max in 1_usize..40,
    ) {
        let Selection::Selected(selected) = whole(&events, messages_max) else {
            panic!("the whole history is enough");
        };
        let units = units_of(&events);
        let count: usize = selected.units.iter().map(Unit::messages).sum();
        prop_assert!(count <= messages_max);
        let left_out = units.len() - selected.units.len();
        prop_assert_eq!(&selected.units[..], &units[left_out..]);
        prop_assert_eq!(selected.truncated, left_out > 0);
        if let Some(next) = left_out.checked_sub(1).and_then(|index| units.get(index)) {
            prop_assert!(count + next.messages() > messages_max);
        }
    }

    #[test]
    fn a_window_answers_as_the_whole_history_or_asks_for_more(
        events in histories(120), messages_max in 1_usize..40, newest in 0_usize..120,
    ) {
        let answer = window(&events, messages_max, newest);
        if answer != Selection::NeedsOlder {
            prop_assert_eq!(answer, whole(&events, messages_max));
        }
    }

    #[test]
    fn no_more_events_are_read_than_the_bound(
        events in histories(400), messages_max in 1_usize..20,
    ) {
        let mut read = 0;
        let relevant = events.iter().rev().filter(|event| context::CONTEXT_KINDS.contains(&event.event.fact.kind()));
        let counted = relevant.inspect(|_| read += 1).cloned().map(Ok::<_, Infallible>);
        let Ok(_) = select(counted, Extent::messages(messages_max), Reach::Beginning);
        prop_assert!(read <= MessageCount(messages_max).events_max());
    }

    #[test]
    fn after_a_summary_units_that_reach_past_it_are_whole(
        events in histories(120), messages_max in 1_usize..40, after in 0_u64..120,
    ) {
        let after = Version(after);
        let selected = after_summary(&events, (messages_max, after), Reach::Beginning);
        let units = units_after(&events, after);
        let left_out = units.len() - selected.units.len();
        prop_assert_eq!(&selected.units[..], &units[left_out..]);
        prop_assert_eq!(selected.truncated, left_out > 0);
        prop_assert_eq!(selected.orphans, vec![]);
    }

    #[test]
    fn with_a_summary_no_more_events_are_read_than_the_bound(
        events in histories(400), messages_max in 1_usize..20, after in 0_u64..400,
    ) {
        let mut read = 0;
        let relevant = events.iter().rev().filter(|event| context::CONTEXT_KINDS.contains(&event.event.fact.kind()));
        let counted = relevant.inspect(|_| read += 1).cloned().map(Ok::<_, Infallible>);
        let extent = Extent { after: Version(after), ..Extent::messages(messages_max) };
        let Ok(_) = select(counted, extent, Reach::Beginning);
        // And the one that is only asked for its version.
        prop_assert!(read <= MessageCount(messages_max).events_max() + 1);
    }

    #[test]
    fn notes_change_nothing(events in histories(60), messages_max in 1_usize..20) {
        let relevant: Vec<RecordedEvent> = events
            .iter()
            .filter(|event| context::CONTEXT_KINDS.contains(&event.event.fact.kind()))
            .cloned()
            .collect();
        prop_assert_eq!(whole(&relevant, messages_max), whole(&events, messages_max));
    }
}

/// Histories that keep the domain's rule: a result answers an open call, and no open call's id is used again.
pub(crate) fn histories(events_max: usize) -> impl Strategy<Value = Vec<RecordedEvent>> {
    prop::collection::vec((0_u8..12, 0_usize..8), 0..events_max).prop_map(|steps| {
        let mut open: Vec<usize> = Vec::new();
        let facts = steps.into_iter().map(|(step, pick)| match step {
            0..=2 => fact("u"),
            3..=4 => fact("a"),
            5 => fact("n"),
            6..=8 if !open.contains(&pick) => {
                open.push(pick);
                fact(&format!("c{pick}"))
            }
            9..=11 if !open.is_empty() => {
                let id = open.remove(pick % open.len());
                fact(&format!("r{id}"))
            }
            _ => fact("s"),
        });
        recorded(facts.collect::<Vec<_>>().into_iter())
    })
}

/// Those of [`units_of`] that have an event after a version.
pub(crate) fn units_after(events: &[RecordedEvent], after: Version) -> Vec<Unit> {
    let mut units = units_of(events);
    units.retain(|unit| unit.versions().any(|version| version > after));
    units
}

/// The units of a whole history, read from its beginning: another way to the same thing.
pub(crate) fn units_of(events: &[RecordedEvent]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut joins = false;
    for event in events {
        let version = event.version;
        match &event.event.fact {
            Fact::MessageAppended(message) => {
                joins = message.role == Role::Assistant;
                units.push(Unit {
                    version,
                    message: Some(message.clone()),
                    tokens: event.event.tokens,
                    calls: Vec::new(),
                });
            }
            Fact::ToolCalled(called) => {
                if !joins {
                    units.push(Unit { version, message: None, tokens: EventTokens::default(), calls: Vec::new() });
                    joins = true;
                }
                let call = Call { version, called: called.clone(), tokens: event.event.tokens, result: None };
                units.last_mut().unwrap().calls.push(call);
            }
            Fact::ToolReturned(returned) => {
                joins = false;
                let mut calls = units.iter_mut().flat_map(|unit| &mut unit.calls);
                let waits = |call: &&mut Call| call.result.is_none() && call.called.call_id == returned.call_id;
                let result = CallResult { version, returned: returned.clone(), tokens: event.event.tokens };
                calls.find(waits).unwrap().result = Some(result);
            }
            _ => {}
        }
    }
    units
}
