//! Thoughts: which turns were written after another prefix than the context's.

use context::{Policy, Turn, Written};
use domain::event::Role;
use domain::{Fact, Part, RecordedEvent, Version};

use crate::growth::{assembled, counted, distinct};
use crate::notation::{history, weighed};
use crate::plan::written;

/// Every event weighs this much. The room is ten events, and a trim leaves five.
const TOKENS: u32 = 100;

#[test]
fn before_the_first_trim_all_thoughts_are_valid() {
    check("u a u a u a u", "u1 a2 u3 a4 u5 a6 u7", &[], 0);
    check("u c1 r1 a u a", "u1 -2[2=3] a4 u5 a6", &[], 0);
}

#[test]
fn answers_after_a_trim_are_valid_and_those_before_it_are_not() {
    // The trim is at the eleventh event. The newest loop keeps its thoughts.
    check("u a u a u a u a u a u", "a6 u7 a8 u9 a10 u11", &[6, 8, 10], 11);
    check("u a u a u a u a u a u a u", "a6 u7 a8 u9 a10 u11 a12 u13", &[6, 8, 10], 11);
    check("u a u a u a u a u a u a u a u", "a6 u7 a8 u9 a10 u11 a12 u13 a14 u15", &[6, 8, 10], 11);
    // The next trim is at the sixteenth event.
    check("u a u a u a u a u a u a u a u a", "u11 a12 u13 a14 u15 a16", &[12, 14], 15);
    check("u a u a u a u a u a u a u a u a u", "u11 a12 u13 a14 u15 a16 u17", &[12, 14, 16], 17);
    check("u a u a u a u a u a u a u a u a u a u", "u11 a12 u13 a14 u15 a16 u17 a18 u19", &[12, 14, 16], 17);
}

#[test]
fn calls_and_results_count_like_messages() {
    // The result at version 11 is the eleventh event, so the answer at version 12 was written after the trim.
    let turns = "-6[6=7] a8 u9 -10[10=11] a12 u13";
    check("u c1 r1 a u c2 r2 a u c3 r3 a u", turns, &[8], 9);
    // The call is the eleventh event, and its result follows.
    let turns = "-6[6=7] a8 u9 a10[11=12] a13 u14";
    check("u c1 r1 a u c2 r2 a u a c3 r3 a u", turns, &[8], 9);
    // The answer follows the ninth event.
    check("u c1 r1 a u c2 r2 a u a u u", "-6[6=7] a8 u9 a10 u11 u12", &[8, 10], 11);
}

#[test]
fn answers_in_a_context_that_a_count_cuts_were_written_after_another_prefix() {
    let events = thinking(distinct(weighed(history("u a u a u"), |_| TOKENS)));
    for (messages_max, expected, other, revised) in
        [(5, "u1 a2 u3 a4 u5", &[][..], 0), (4, "a2 u3 a4 u5", &[2, 4], 5), (3, "u3 a4 u5", &[4], 5)]
    {
        let assembled = counted(&events, &policy(), messages_max).unwrap();
        assert_eq!(written(&assembled.transcript.turns), expected);
        assert_eq!(marked(&assembled.transcript.turns), other, "{expected}");
        assert_eq!(assembled.report.epoch.revised, Version(revised), "{expected}");
    }
}

#[test]
fn a_turn_without_thoughts_is_not_marked() {
    let events = distinct(weighed(history("u a u a u a u a u a u a u"), |_| TOKENS));
    let assembled = assembled(&events, &policy()).unwrap();
    assert_eq!(marked(&assembled.transcript.turns), Vec::<u64>::new());
    assert_eq!(assembled.report.epoch.revised, Version::ZERO);
}

/// `expected`: the turns; `other`: those whose thoughts were written after another prefix.
#[track_caller]
fn check(words: &str, expected: &str, other: &[u64], revised: u64) {
    let events = thinking(distinct(weighed(history(words), |_| TOKENS)));
    let assembled = assembled(&events, &policy()).unwrap();
    let turns = &assembled.transcript.turns;
    assert_eq!(written(turns), expected, "{words}");
    assert_eq!(marked(turns), other, "{words}");
    assert_eq!(assembled.report.epoch.revised, Version(revised), "{words}");
}

fn marked(turns: &[Turn]) -> Vec<u64> {
    let others = turns.iter().filter(|turn| turn.written == Written::BehindAnother);
    others.map(|turn| turn.version.0).collect()
}

fn policy() -> Policy {
    // The opening's note has 16 tokens of its frame and those of its text.
    let note = 16 + tokens::count_text(context::stages::summarise::LEFT_OUT);
    let room = 10 * TOKENS + note;
    Policy::parse(&format!(r#"{{"budget":{{"context_tokens_max":{room},"reserved_tokens":0}}}}"#)).unwrap()
}

/// The same events; each message of the assistant begins with a thought.
fn thinking(mut events: Vec<RecordedEvent>) -> Vec<RecordedEvent> {
    for event in &mut events {
        if let Fact::MessageAppended(message) = &mut event.event.fact
            && message.role == Role::Assistant
        {
            let signature = Some("c2ln".to_owned());
            message.parts = vec![Part::Thinking { text: "What next?".to_owned(), signature }];
        }
    }
    events
}
