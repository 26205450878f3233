//! Secrets in a conversation: their marks weigh more or less than they did, and the beginning moves by steps all the same.

use context::{Assembled, Effect, Policy};
use domain::event::ToolOutput;
use domain::{Fact, JsonText, Part, RecordedEvent};
use redact::Rules;

use crate::growth::{assembled, assembled_by};
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

/// A turn that did not fit is not read. Where redaction makes the others so short that it would, it stays out, with an outcome.
#[test]
fn what_redaction_makes_room_for_stays_out() {
    let mut events = history("u u a");
    for (event, text) in events.iter_mut().zip([
        " word".repeat(200),
        "sk-Zq8Xw2Vn5Bk1Jt7Rp4Ly9Gd3Hf6Mc0SaZq8Xw2Vn5Bk; ".repeat(20),
        "yes".to_owned(),
    ]) {
        if let Fact::MessageAppended(message) = &mut event.event.fact {
            message.parts = vec![Part::Text(text)];
        }
    }
    let own: Vec<u32> = events.iter().map(|event| tokens::count_fact(&event.event.fact)).collect();
    let events = weighed(events, |index| own.get(index).copied().unwrap());
    let mut has_room = 0;
    for context_tokens_max in 500..1_500 {
        let json = format!(
            r#"{{"budget":{{"context_tokens_max":{context_tokens_max},"reserved_tokens":0}},
                "tool_digest":{{"results_max":2,"bytes_max":300}}}}"#
        );
        let policy = Policy::parse(&json).unwrap();
        let Some(Assembled { report, transcript }) = assembled(&events, &policy) else {
            continue;
        };
        let over_budget = report.outcomes.iter().filter(|outcome| outcome.effect == Effect::OverBudget);
        let omitted: u64 = over_budget.map(|outcome| outcome.last.0 + 1 - outcome.first.0).sum();
        let shown = u64::try_from(transcript.turns.len()).unwrap();
        assert_eq!(shown + omitted, 3, "{context_tokens_max}: {report:?}");
        assert_eq!(transcript.turns.first().map(|turn| turn.version), Some(report.epoch.first));
        assert_eq!(report.left_out.is_some(), omitted > 0);
        let would_fit = omitted > 0 && report.sections.turns + u64::from(own[0]) <= report.room;
        has_room += usize::from(would_fit);
    }
    assert!(has_room > 0);
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
