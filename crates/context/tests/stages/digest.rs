//! Digests: turns weigh what they say alone, and the room is theirs.

use context::outcome::versions;
use context::stages::tool_digest::tokens_max;
use context::{Effect, Plan, PlanError, Policy, Settings};
use domain::{ClientContext, RecordedEvent, Version};

use crate::growth::{RULES, assembled};
use crate::notation::{history, weighed};

/// Exchanges of 10 tokens said, and 290 for a call and its result.
fn exchanges(count: usize) -> Vec<RecordedEvent> {
    let events = history(&"u c1 r1 a ".repeat(count));
    weighed(events, |index| match index % 4 {
        1 => 90,
        2 => 200,
        _ => 10,
    })
}

fn policy(context_tokens_max: u32, digest: &str) -> Policy {
    let json = format!(r#"{{"budget":{{"context_tokens_max":{context_tokens_max}}},"tool_digest":{digest}}}"#);
    Policy::parse(&json).unwrap()
}

#[test]
fn calls_take_no_room_of_turns() {
    let policy = policy(8_000, r#"{"results_max":2,"bytes_max":1000}"#);
    let report = assembled(&exchanges(24), &policy).unwrap().report;
    assert_eq!(report.sections.turns, 24 * 20);
    assert_eq!(report.left_out, None);
    let digested = versions(&report.outcomes, &Effect::Digested);
    assert_eq!(digested.collect::<Vec<_>>(), [90, 91, 94, 95].map(Version));
    assert_eq!(versions(&report.outcomes, &Effect::NotDigested).count(), 22 * 2);
    // Ten times what the budget would hold with the calls.
    let report = assembled(&exchanges(200), &policy).unwrap().report;
    assert_eq!(report.sections.turns, 200 * 20);
}

#[test]
fn the_closing_section_weighs_what_it_has() {
    const FRAME: u64 = 16;
    for (words, has_calls) in [("u a u", false), ("u c1 r1 a u", true)] {
        let events = weighed(history(words), |_| 10);
        let assembled = assembled(&events, &policy(8_000, "{}")).unwrap();
        let closing = assembled.transcript.closing.as_deref();
        assert_eq!(closing.is_some(), has_calls, "{words}");
        let tokens = closing.map_or(0, |text| u64::from(tokens::count_text(text)) + FRAME);
        assert_eq!(assembled.report.sections.closing, tokens, "{words}");
    }
}

#[test]
fn the_beginning_moves_by_steps() {
    let policy = policy(2_000, r#"{"results_max":2,"bytes_max":300}"#);
    let mut firsts: Vec<Version> = (1..=300)
        .map(|count| {
            let report = assembled(&exchanges(count), &policy).unwrap().report;
            assert!(report.sections.turns <= report.room);
            assert!(report.left_out.is_none() || report.sections.turns > report.room / 2);
            report.epoch.first
        })
        .collect();
    firsts.dedup();
    assert!((3..=150).contains(&firsts.len()), "{}", firsts.len());
}

#[test]
fn the_default_digest_has_room_in_a_small_context() {
    let client = ClientContext::default();
    let plan = |policy: &Policy| {
        let settings = Settings {
            policy,
            rules: &RULES,
            client: &client,
            instructions: None,
            summary: None,
            shared: Version::ZERO,
            rewound: Version::ZERO,
            own: None,
        };
        Plan::new(settings).map(|plan| plan.room())
    };
    let small = policy(8_000, "{}");
    let reserved = u64::from(tokens_max(small.tool_digest.as_ref().unwrap()));
    let room = plan(&small).unwrap().turns;
    assert!(room + reserved < 6_000 && room > 3_000, "{room}");
    let error: PlanError = plan(&policy(3_000, "{}")).unwrap_err();
    let told = error.to_string();
    assert!(told.contains("lower tool_digest.bytes_max"), "{told}");
}
