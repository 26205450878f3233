//! The instructions that a conversation begins with stay when its beginning goes.

use std::convert::Infallible;

use context::stages::own_instructions::{OWN_INSTRUCTIONS_PART, OwnInstructions, own_instructions};
use context::{Assembled, Plan, Policy, Reach, Selection, Settings, select};
use domain::{ClientContext, Fact, Part, RecordedEvent, Version};
use redact::Rules;

use crate::notation::{history, weighed};

/// Every event weighs this much here.
const TOKENS: u32 = 100;

#[test]
fn they_are_what_the_system_says_before_anybody_else() {
    let check = |words: &str, expected: Option<(u64, usize)>| {
        let found = own_instructions(said(words)).map(|own| (own.through.0, own.texts.len()));
        assert_eq!(found, expected, "{words}");
    };
    check("k u s a", None);
    check("k", None);
    check("s", Some((1, 1)));
    check("k s u s", Some((2, 1)));
    check("k s n s u", Some((4, 2)));
}

/// A history in which every message says something.
fn said(words: &str) -> Vec<RecordedEvent> {
    let mut events = history(words);
    for event in &mut events {
        if let Fact::MessageAppended(message) = &mut event.event.fact {
            message.parts = vec![Part::Text("Said.".to_owned())];
        }
    }
    events
}

#[test]
fn what_holds_more_than_text_is_a_turn() {
    let check = |parts: Vec<Part>, expected: bool| {
        let mut events = said("s u");
        if let Fact::MessageAppended(message) = &mut events[0].event.fact {
            message.parts = parts;
        }
        assert_eq!(own_instructions(events).is_some(), expected);
    };
    let text = |text: &str| Part::Text(text.to_owned());
    check(vec![text("Be kind."), text("Be brief.")], true);
    check(vec![text("Be kind."), Part::Refusal("No.".to_owned())], false);
    check(vec![text(" ")], false);
    check(Vec::new(), false);
}

/// The context of all these events, in a room of so many tokens beside its instructions.
fn assembled(events: &[RecordedEvent], context_tokens_max: u32, own: Option<OwnInstructions>) -> Assembled {
    let json = format!(
        r#"{{"budget":{{"context_tokens_max":{context_tokens_max},"reserved_tokens":0}},"redact":{{"keys":["code"]}}}}"#
    );
    let policy = Policy::parse(&json).unwrap();
    let rules = Rules::compile(&policy.redact).unwrap();
    let client = ClientContext::default();
    let plan = Plan::new(Settings {
        policy: &policy,
        rules: &rules,
        client: &client,
        instructions: None,
        summary: None,
        own,
        shared: Version::ZERO,
        rewound: Version::ZERO,
    })
    .unwrap();
    let newest_first = events.iter().rev().cloned().map(Ok::<_, Infallible>);
    let Ok(Selection::Selected(selected)) = select(newest_first, plan.extent(None), Reach::Beginning) else {
        panic!("what is given is enough");
    };
    plan.complete(selected).unwrap()
}

fn own(text: &str) -> OwnInstructions {
    OwnInstructions { through: Version(2), texts: vec![text.to_owned()] }
}

#[test]
fn they_are_told_first_redacted_and_weighed_and_are_no_turns_then() {
    let events = weighed(history("k s u a u a u a u a"), |_| TOKENS);
    let without = assembled(&events, 500, None);
    assert!(without.transcript.instructions.is_empty());
    assert_eq!(without.report.own_instructions, Version::ZERO);
    let with = assembled(&events, 500, Some(own("Be a pirate. code=ahoy1234")));
    let [told] = &with.transcript.instructions[..] else {
        panic!("{:?}", with.transcript.instructions);
    };
    assert!(told.starts_with("Be a pirate.") && !told.contains("ahoy1234"), "{told}");
    assert_eq!(with.report.own_instructions, Version(2));
    let sections = with.report.sections;
    assert!(sections.instructions > 0);
    assert_eq!(with.report.room + sections.fixed(), without.report.room + without.report.sections.fixed());
    // With room for all, what they say is not told twice.
    let all = assembled(&events, 5_000, Some(own("Be a pirate.")));
    assert_eq!(all.transcript.turns[0].version, Version(3));
    assert!(all.report.left_out.is_none());
}

#[test]
fn they_take_half_of_the_room_at_most() {
    let events = weighed(history("k s u"), |_| TOKENS);
    let is_told = |words: u64| {
        let text = "word ".repeat(usize::try_from(words).unwrap());
        let assembled = assembled(&events, 1_000, Some(own(text.trim())));
        let is_told = !assembled.transcript.instructions.is_empty();
        assert_eq!(assembled.report.own_instructions > Version::ZERO, is_told);
        is_told
    };
    // A section's frame is among it.
    let half = assembled(&events, 1_000, None).report.room / OWN_INSTRUCTIONS_PART - 16;
    assert!(is_told(half));
    assert!(!is_told(half + 1));
}
