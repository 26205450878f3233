//! Plans, as a table: what goes in for a history, a policy and a version.

use std::convert::Infallible;

use context::stages::repair::{INTERRUPTED, PENDING};
use context::stages::summarise::Summary;
use context::{
    AnswerOrigin, Assembled, Effect, Plan, PlanError, Policy, Reach, Report, Selection, Settings, Turn, select,
};
use domain::event::Role;
use domain::{ClientContext, JsonText, RecordedEvent, Version};
use redact::Rules;

use crate::notation::{history, weighed};

/// Every event weighs this much in these tables.
const TOKENS: u32 = 100;

#[test]
fn everything_goes_in_while_there_is_room() {
    check("k u a u a", 400, "", "u2 a3 u4 a5");
    check("k s u a", 300, "", "s2 u3 a4");
    check("k u a n", 200, "", "u2 a3");
}

#[test]
fn the_line_moves_by_steps_and_stands_still_between() {
    // 400 tokens of room, half of it kept after a trim: two events go at a time.
    check("u a u a u", 400, "", ".. u3 a4 u5");
    check("u a u a u a", 400, "", ".. u3 a4 u5 a6");
    check("u a u a u a u", 400, "", ".. u5 a6 u7");
    check("u a u a u a u a", 400, "", ".. u5 a6 u7 a8");
    // Less is kept: more go, more seldom.
    let low = r#""low_water_percent":25"#;
    check("u a u a u", 400, low, ".. a4 u5");
    check("u a u a u a u", 400, low, ".. a4 u5 a6 u7");
    check("u a u a u a u a", 400, low, ".. u7 a8");
}

#[test]
fn units_are_whole() {
    check("u a c1 r1 u", 400, "", ".. u5");
    check("u a c1 c2 r1 r2 u a", 400, "", ".. u7 a8");
    check("u c1 r1 c2 r2", 400, "", ".. -4[4=5]");
}

#[test]
fn the_newest_turn_needs_only_to_fit() {
    check("u u a c1 r1", 300, "", ".. a3[4=5]");
    check(
        "u u a c1 r1 c2 r2 c3 r3",
        199,
        "",
        "the newest turn needs 200 tokens, of 199 that the budget leaves for turns: raise budget.context_tokens_max, or \
         clear tool results",
    );
}

#[test]
fn calls_without_a_result_say_why() {
    check("u c1", 900, "", "u1 -2[2=pending]");
    check("u c1 u", 900, "", "u1 -2[2=pending] u3");
    check("u c1 u a", 900, "", "u1 -2[2=interrupted] u3 a4");
    check("u c1 c2 r2 u a", 900, "", "u1 -2[2=interrupted 3=4] u5 a6");
    check("u c1 u a r1", 900, "", "u1 -2[2=5] u3 a4");
}

#[test]
fn a_fork_does_not_wait_for_the_calls_that_it_left() {
    check("k u c1 k", 900, "", "u2 -3[3=interrupted]");
    check("k u c1 k u", 900, "", "u2 -3[3=interrupted] u5");
    check("k u c1 k u c2", 900, "", "u2 -3[3=interrupted] u5 -6[6=pending]");
    check("k u a c1 k c2", 900, "", "u2 a3[4=interrupted 6=pending]");
    check("k u c1 k u c1 r1", 900, "", "u2 -3[3=interrupted] u5 -6[6=7]");
    let revised = |words| assembled(words, "{}", None).unwrap().report.epoch.revised;
    assert_eq!(revised("k u c1 k u"), Version(4));
    assert_eq!(revised("k u c1 u a k u"), Version(5));
    assert_eq!(revised("k u c1 r1 k u"), Version::ZERO);
}

/// A tool may answer the same, and a provider may give each response the same id: both are read as often as they happened.
#[test]
fn equal_events_are_different_events() {
    check("u c1 r1 c1 r1 a", 900, "", "u1 -2[2=3] -4[4=5] a6");
    check("u c1 r1 a c1 r1", 900, "", "u1 -2[2=3] a4[5=6]");
    check("u c1 r1 u c1 r1", 900, "", "u1 -2[2=3] u4 -5[5=6]");
    check("u a a a", 900, "", "u1 a2 a3 a4");
}

#[test]
fn a_summary_stands_for_what_it_covers() {
    let assembled = assembled("u a u a", "{}", Some(2)).unwrap();
    assert_eq!(written(&assembled.transcript.turns), "u3 a4");
    let opening = assembled.transcript.opening.unwrap();
    assert_eq!(opening, "[Summary of the conversation so far]\nWhat was.");
    assert_eq!(assembled.report.sections.opening, 16 + u64::from(tokens::count_text(&opening)));
    assert_eq!(assembled.report.left_out, None);
    assert_eq!(assembled.report.summarised, Some(Version(2)));
}

#[test]
fn a_whole_history_has_no_opening() {
    let whole = assembled("u a u a", "{}", None).unwrap();
    assert_eq!((whole.transcript.opening, whole.report.sections.opening), (None, 0));
}

#[test]
fn old_results_are_cleared_in_blocks() {
    // 1,000 tokens of room, 600 of them fresh; a trim leaves 700, so 300 of them.
    let clear = format!(
        r#"{{"budget":{{"context_tokens_max":{},"reserved_tokens":0,"low_water_percent":70}},"clear":{{"fresh_percent":60}}}}"#,
        1_000 + opening_tokens()
    );
    let shown = |words| {
        let assembled = assembled(words, &clear, None).unwrap();
        (written(&assembled.transcript.turns), cleared(&assembled.report))
    };
    assert_eq!(shown("u c1 r1 u c2 r2"), ("u1 -2[2=3] u4 -5[5=6]".to_owned(), 0));
    assert_eq!(shown("u c1 r1 u c2 r2 u"), ("u1 -2[2=cleared] u4 -5[5=6] u7".to_owned(), 1));
    assert_eq!(shown("u c1 r1 u c2 r2 u c3 r3"), ("u1 -2[2=cleared] u4 -5[5=6] u7 -8[8=9]".to_owned(), 1));
    assert_eq!(shown("u c1 r1 u c2 r2 u c3 r3 u"), ("u4 -5[5=cleared] u7 -8[8=9] u10".to_owned(), 1));
}

#[test]
fn instructions_that_leave_no_room_are_an_error() {
    let policy = format!(
        r#"{{"instructions":"{}","budget":{{"context_tokens_max":256,"reserved_tokens":0}}}}"#,
        "word ".repeat(400)
    );
    let error = assembled("u", &policy, None).unwrap_err().to_string();
    assert!(error.contains("of 256 that the budget leaves beside its reserve"), "{error}");
}

fn check(words: &str, room: u64, budget: &str, expected: &str) {
    let comma = if budget.is_empty() { "" } else { "," };
    // The opening's note is not reserved in these tables' room.
    let overhead = opening_tokens();
    let policy = format!(
        r#"{{"budget":{{"context_tokens_max":{},"reserved_tokens":{}{comma}{budget}}}}}"#,
        room + overhead + 1_000,
        1_000
    );
    let told = match assembled(words, &policy, None) {
        Ok(assembled) => {
            let mark = assembled.report.left_out.map_or("", |_| ".. ");
            format!("{mark}{}", written(&assembled.transcript.turns))
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected, "{words}");
}

fn opening_tokens() -> u64 {
    let policy = Policy::default();
    let client = ClientContext::default();
    let rules = Rules::compile(&policy.redact).unwrap();
    let settings = Settings {
        policy: &policy,
        rules: &rules,
        client: &client,
        instructions: None,
        summary: None,
        shared: Version::ZERO,
        rewound: Version::ZERO,
        own: None,
    };
    let room = Plan::new(settings).unwrap().room();
    u64::from(context::policy::Budget::CONTEXT_TOKENS - context::policy::Budget::RESERVED_TOKENS) - room.turns
}

fn assembled(words: &str, policy: &str, summary: Option<u64>) -> Result<Assembled, PlanError> {
    let events: Vec<RecordedEvent> = weighed(history(words), |_| TOKENS);
    let policy = Policy::parse(policy).unwrap();
    let rules = Rules::compile(&policy.redact).unwrap();
    let summary = summary.map(|through| Summary {
        version: Version(through + 1),
        through: Version(through),
        text: "What was.".to_owned(),
        model: None,
    });
    let client = ClientContext::default();
    let plan = Plan::new(Settings {
        policy: &policy,
        rules: &rules,
        client: &client,
        instructions: None,
        summary,
        shared: shared(words),
        rewound: Version::ZERO,
        own: None,
    })?;
    let newest_first = events.into_iter().rev().map(Ok::<_, Infallible>);
    let Ok(Selection::Selected(selected)) = select(newest_first, plan.extent(None), Reach::Beginning) else {
        panic!("the whole history is enough");
    };
    Ok(plan.complete(selected)?)
}

/// The version before the last beginning: what a fork shares.
fn shared(words: &str) -> Version {
    let words: Vec<&str> = words.split_whitespace().collect();
    let last = words.iter().rposition(|word| *word == "k");
    last.map_or(Version::ZERO, |shared| Version::ZERO.plus(shared))
}

/// Turns as the notation writes units, with what a model reads as each call's result.
pub(crate) fn written(turns: &[Turn]) -> String {
    let words: Vec<String> = turns.iter().map(written_turn).collect();
    words.join(" ")
}

fn cleared(report: &Report) -> usize {
    let outcomes = report.outcomes.iter();
    let cleared = outcomes.filter(|outcome| matches!(outcome.effect, Effect::Cleared { .. }));
    cleared.count()
}

fn written_turn(turn: &Turn) -> String {
    let speaker = match turn.role {
        Role::User => "u",
        Role::Assistant if turn.calls.first().is_some_and(|call| call.version == turn.version) => "-",
        Role::Assistant => "a",
        Role::System | Role::Developer => "s",
    };
    let calls: Vec<String> = turn
        .calls
        .iter()
        .map(|call| {
            let answer = match call.answer.origin {
                AnswerOrigin::Recorded(version) => version.to_string(),
                AnswerOrigin::Cleared(_) => "cleared".to_owned(),
                AnswerOrigin::Pending => "pending".to_owned(),
                AnswerOrigin::Interrupted => "interrupted".to_owned(),
            };
            format!("{}={answer}", call.version)
        })
        .collect();
    let calls = if calls.is_empty() { String::new() } else { format!("[{}]", calls.join(" ")) };
    format!("{speaker}{}{calls}", turn.version)
}

#[test]
fn what_stands_for_a_result_fits_its_allowance() {
    for text in [PENDING, INTERRUPTED] {
        assert!(tokens::count_text(text) + 48 <= context::stages::clear::STUB_TOKENS, "{text}");
    }
}

#[test]
fn what_the_client_told_is_redacted_before_it_is_told() {
    let policy = r#"{"instructions":"Page {{ page_url }}","inject":{"fields":["custom_metadata"]}}"#;
    let policy = Policy::parse(policy).unwrap();
    let rules = Rules::compile(&policy.redact).unwrap();
    let secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD";
    let client = ClientContext {
        page_url: Some(format!("https://example.org/?access_token={secret}")),
        custom_metadata: Some(JsonText::parse(format!(r#"{{"password":"{secret}","n":1}}"#)).unwrap()),
        ..ClientContext::default()
    };
    let settings = Settings {
        policy: &policy,
        rules: &rules,
        client: &client,
        instructions: None,
        summary: None,
        shared: Version::ZERO,
        rewound: Version::ZERO,
        own: None,
    };
    let plan = Plan::new(settings).unwrap();
    let nothing = std::iter::empty::<Result<RecordedEvent, Infallible>>();
    let Ok(Selection::Selected(selected)) = select(nothing, plan.extent(None), Reach::Beginning) else {
        panic!("nothing is enough");
    };
    let assembled = plan.complete(selected).unwrap();
    let told = assembled.transcript.instructions.join("\n");
    assert!(!told.contains(secret), "{told}");
    assert!(told.contains("https://example.org/") && told.contains(r#""n":1"#), "{told}");
    assert_eq!(assembled.report.redactions.total(), 2);
}
