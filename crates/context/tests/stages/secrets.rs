//! Secrets in a conversation: their marks weigh more or less than they did, and the beginning moves by steps all the same.

use context::Policy;
use domain::event::ToolOutput;
use domain::{Fact, JsonText, Part, RecordedEvent};
use redact::Rules;

use crate::growth::assembled_by;
use crate::notation::{history, weighed};

const QUESTIONS: usize = 150;

#[test]
fn the_beginning_moves_by_steps() {
    for low_water in [30, 50, 80] {
        check("", low_water, |without| without + 1);
        // What is cleared moves by itself, and so may what is left out.
        check(r#","clear":{"fresh_percent":60}"#, low_water, |without| 2 * without);
    }
}

#[track_caller]
fn check(clear: &str, low_water: u8, most: impl Fn(usize) -> usize) {
    let without = beginnings(clear, low_water, r#""none""#);
    let with = beginnings(clear, low_water, r#""all""#);
    assert!(without > 2, "{without}");
    assert!(with <= most(without), "{low_water}% {clear}: {with} beginnings, {without} without redaction");
}

/// How many beginnings the contexts of a growing conversation have.
fn beginnings(clear: &str, low_water: u8, rules: &str) -> usize {
    let json = format!(
        r#"{{"budget":{{"context_tokens_max":8000,"low_water_percent":{low_water}}},"redact":{{"rules":{rules}}}{clear}}}"#
    );
    let policy = Policy::parse(&json).unwrap();
    let rules = Rules::compile(&policy.redact).unwrap();
    let events = trace();
    let mut firsts: Vec<_> = (1..=QUESTIONS)
        .map(|question| {
            let events = events.get(..question * 4).unwrap();
            let assembled = assembled_by(events, &policy, &rules).unwrap();
            assert!(assembled.report.sections.turns <= assembled.report.room);
            assert_eq!(assembled.report.redactions.total() > 0, policy.redact == redact::Settings::default());
            assembled.report.epoch.first
        })
        .collect();
    firsts.dedup();
    firsts.len()
}

/// Questions, each with a call that has a pin, a code and a password, and an answer.
fn trace() -> Vec<RecordedEvent> {
    let mut events = history(&"u c1 r1 a ".repeat(QUESTIONS));
    for event in &mut events {
        let number = event.version.0;
        let secrets = format!(
            r#"{{"id":{number},"pin":{},"cvv":"{}","password":"p{number}"}}"#,
            1_000 + number,
            100 + number % 900
        );
        match &mut event.event.fact {
            Fact::MessageAppended(message) => {
                let words = " word".repeat(20 + usize::try_from(number % 60).unwrap());
                message.parts = vec![Part::Text(format!("{number}:{words}"))];
            }
            Fact::ToolCalled(called) => called.input = JsonText::parse(secrets).unwrap(),
            Fact::ToolReturned(returned) => {
                let output = format!(r#"{{"paid":{secrets},"note":"{}"}}"#, " ok".repeat(40));
                returned.output = ToolOutput::Json(JsonText::parse(output).unwrap());
            }
            _ => {}
        }
    }
    let own: Vec<u32> = events.iter().map(|event| tokens::count_fact(&event.event.fact)).collect();
    weighed(events, |index| own.get(index).copied().unwrap())
}
