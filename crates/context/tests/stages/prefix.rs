//! How much of successive contexts a prefix cache serves, by the weight of turns alone: 400 calls of a model.

use std::collections::BTreeMap;

use context::stages::budget::{Room, cost};
use context::{Assembled, Policy, Turn};
use domain::event::Role;
use domain::{Fact, RecordedEvent, Version};

use crate::growth::{assembled, distinct};
use crate::notation::{history, weighed};
use crate::select_properties::units_of;

/// Each is answered after a turn that calls.
const QUESTIONS: usize = 200;

#[test]
fn a_cache_serves_most_of_what_is_sent() {
    check(128_000, "", 0.985);
    check(64_000, "", 0.97);
    check(32_000, "", 0.95);
    check(128_000, r#","clear":{}"#, 0.98);
    check(64_000, r#","clear":{}"#, 0.975);
    check(32_000, r#","clear":{}"#, 0.95);
}

#[test]
fn a_trim_leaves_what_the_low_water_mark_says() {
    // Fresh and low-water percents of 1,000 tokens: what is fresh, and the step.
    check_room("100", 50, (1_000, 500));
    check_room("100", 95, (1_000, 50));
    check_room("70", 50, (700, 500));
    check_room("70", 80, (700, 200));
    check_room("60", 50, (600, 450));
    check_room("1", 50, (10, 8));
    check_room("99", 1, (990, 986));
}

#[track_caller]
fn check_room(fresh: &str, low: u8, expected: (u64, u64)) {
    let clear = match fresh {
        "100" => String::new(),
        fresh => format!(r#","clear":{{"fresh_percent":{fresh}}}"#),
    };
    let json =
        format!(r#"{{"budget":{{"context_tokens_max":1000,"reserved_tokens":0,"low_water_percent":{low}}}{clear}}}"#);
    let room = Room::of(&Policy::parse(&json).unwrap(), 0).unwrap();
    assert_eq!((room.fresh, room.step), expected, "{json}");
}

#[track_caller]
fn check(room: u32, clear: &str, at_least: f64) {
    let json = format!(r#"{{"budget":{{"context_tokens_max":{room},"reserved_tokens":0}}{clear}}}"#);
    let served = share(&Policy::parse(&json).unwrap());
    assert!(served >= at_least, "{json}: {served:.4}");
}

/// The part of the tokens of successive contexts, all but the first, that the one before begins with.
fn share(policy: &Policy) -> f64 {
    let events = trace();
    let (mut sent, mut served) = (0, 0);
    let mut last: Option<Assembled> = None;
    for until in calls(&events) {
        let events = events.get(..until).unwrap();
        let context = assembled(events, policy).unwrap();
        if let Some(last) = &last {
            let weights = weights(events, &context, policy);
            sent += weights.iter().sum::<u64>();
            served += weights.iter().take(common(last, &context)).sum::<u64>();
        }
        last = Some(context);
    }
    f64::from(u32::try_from(served).unwrap()) / f64::from(u32::try_from(sent).unwrap())
}

/// How many turns both begin with.
fn common(one: &Assembled, other: &Assembled) -> usize {
    if one.transcript.opening != other.transcript.opening {
        return 0;
    }
    let turns = |assembled: &Assembled| -> Vec<Turn> { assembled.transcript.turns.clone() };
    let (one, other) = (turns(one), turns(other));
    let pairs = one.iter().zip(&other);
    pairs.take_while(|(one, other)| one == other).count()
}

/// What each turn weighs.
fn weights(events: &[RecordedEvent], assembled: &Assembled, policy: &Policy) -> Vec<u64> {
    let line = assembled.report.epoch.threshold;
    let units = units_of(events);
    let costs: BTreeMap<Version, u64> = units.iter().map(|unit| (unit.version, cost(unit, line, policy))).collect();
    let turns = assembled.transcript.turns.iter();
    turns.map(|turn| *costs.get(&turn.version).unwrap()).collect()
}

/// Questions, one to three calls at once, their results, answers: some 220,000 tokens.
fn trace() -> Vec<RecordedEvent> {
    let mut words = Vec::new();
    for question in 0..QUESTIONS {
        let calls = 1..=1 + question * 7 % 3;
        words.push("u".to_owned());
        words.extend(calls.clone().map(|call| format!("c{call}")));
        words.extend(calls.map(|call| format!("r{call}")));
        words.push("a".to_owned());
    }
    let events = history(&words.join(" "));
    let facts: Vec<Fact> = events.iter().map(|event| event.event.fact.clone()).collect();
    distinct(weighed(events, |index| {
        // Any fixed scatter does.
        let scatter = u32::try_from(index * 7_919 % 1_000).unwrap();
        match facts.get(index) {
            Some(Fact::ToolReturned(_)) => 30 + scatter * 8 / 10,
            Some(Fact::ToolCalled(_)) => 30 + scatter / 50,
            _ => 17 + scatter / 12,
        }
    }))
}

/// After how many events a model is called: the assistant is next, and something new was said or has come back.
fn calls(events: &[RecordedEvent]) -> Vec<usize> {
    let answers = |event: &RecordedEvent| match &event.event.fact {
        Fact::MessageAppended(message) => message.role == Role::Assistant,
        fact => matches!(fact, Fact::ToolCalled(_)),
    };
    let next = events.iter().skip(1);
    let pairs = (1..).zip(events.iter().zip(next));
    let calls = pairs.filter(|(_, (event, next))| !answers(event) && answers(next));
    calls.map(|(until, _)| until).collect()
}
