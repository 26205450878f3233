use domain::event::{Role, ToolCalled, ToolOutput};
use domain::{CallId, JsonText, MediaSource, Part, ToolName};

use super::*;
use crate::outcome::versions;
use crate::transcript::{Answer, Written};

#[test]
fn calls_leave_and_turns_with_nothing_left_go() {
    let turns = vec![
        turn(1, vec![Part::Text("hi".to_owned())], Vec::new()),
        turn(2, vec![Part::Text("so".to_owned())], vec![call("a")]),
        turn(4, Vec::new(), vec![call("b")]),
    ];
    let kept = tool_digest(turns, &ToolDigest::default()).turns;
    let versions: Vec<u64> = kept.iter().map(|turn| turn.version.0).collect();
    assert_eq!(versions, [1, 2]);
    assert!(kept.iter().all(|turn| turn.calls.is_empty()));
    assert_eq!(tool_digest(kept, &ToolDigest::default()).text, None);
}

#[test]
fn the_last_calls_are_listed_oldest_first() {
    check(
        vec![call("one"), call("two")],
        (10, 64, 1_000),
        "Tool calls, oldest first:\n- t {} succeeded: one\n- t {} succeeded: two",
    );
    check(
        vec![call("one"), call("two")],
        (1, 64, 1_000),
        "The last 1 of 2 tool calls, oldest first:\n- t {} succeeded: two",
    );
    let newest = "The last 1 of 2 tool calls, oldest first:\n- t {} succeeded: two";
    check(vec![call("one"), call("two")], (10, 64, 98), newest);
}

#[test]
fn the_first_line_fits_its_bounds() {
    let header = text(10_000_000, vec![String::new(); 100]).unwrap();
    assert!(header.len() <= HEADER_BYTES_MAX, "{header}");
    assert!(count_text(&header) <= HEADER_TOKENS_MAX, "{header}");
}

#[test]
fn what_has_many_tokens_is_cut_by_them() {
    // Each of these has two tokens and two bytes.
    let dense = digest(vec![call(&"\u{7f}q".repeat(400))], (1, 1_000, 600)).unwrap();
    assert!(count_text(&dense) <= 200, "{dense}");
    assert!(count_text(&dense) > 100, "{dense}");
    assert!(dense.contains("… [cut, "), "{dense}");
}

#[test]
fn outcomes_name_the_listed_calls() {
    let at = |version: u64, result: Option<u64>| {
        let mut call = call("x");
        call.version = Version(version);
        call.answer.origin = result.map_or(AnswerOrigin::Pending, |result| AnswerOrigin::Recorded(Version(result)));
        call
    };
    let calls = vec![at(2, Some(9)), at(3, Some(5)), at(4, None), at(7, Some(8))];
    let settings = ToolDigest { results_max: 2, ..ToolDigest::default() };
    let outcomes = tool_digest(vec![turn(1, Vec::new(), calls)], &settings).outcomes;
    let with = |effect| versions(&outcomes, &effect).collect::<Vec<_>>();
    assert_eq!(with(Effect::Digested), [4, 7, 8].map(Version));
    assert_eq!(with(Effect::NotDigested), [2, 3, 5, 9].map(Version));
}

#[test]
fn outcomes_of_calls_are_listed() {
    let of = |outcome, origin| {
        let mut call = call("x");
        call.answer.outcome = outcome;
        call.answer.origin = origin;
        call
    };
    let calls = vec![
        of(ToolOutcome::Failed, AnswerOrigin::Recorded(Version(3))),
        of(ToolOutcome::Failed, AnswerOrigin::Pending),
        of(ToolOutcome::Failed, AnswerOrigin::Interrupted),
        of(ToolOutcome::Succeeded, AnswerOrigin::Cleared(Version(3))),
    ];
    let expected = "Tool calls, oldest first:\n- t {} failed: x\n- t {} still waits: x\n- t {} was interrupted: x\n- t {} succeeded: x";
    check(calls, (10, 64, 1_000), expected);
}

#[test]
fn long_results_and_inputs_are_cut_between_characters() {
    let at = |text: &str| format!("Tool calls, oldest first:\n- t {{}} succeeded: {text}");
    check(vec![call(&"é".repeat(8))], (1, 16, 1_000), &at(&"é".repeat(8)));
    check(vec![call(&"é".repeat(9))], (1, 17, 1_000), &at(&format!("{}… [cut, 18 bytes in all]", "é".repeat(8))));
    let mut long = call("x");
    long.called.input = JsonText::parse(format!("\"{}\"", "i".repeat(INPUT_BYTES_MAX - 1))).unwrap();
    let input = format!("\"{}… [cut, 161 bytes in all]", "i".repeat(INPUT_BYTES_MAX - 1));
    check(vec![long], (1, 16, 1_000), &format!("Tool calls, oldest first:\n- t {input} succeeded: x"));
}

#[test]
fn a_digest_stays_within_its_bound_and_is_not_empty() {
    for bytes_max in [64, 65, 100, 200, 262_144] {
        for bytes in [0, 1, 50, 100_000] {
            for calls in [1, 3, 120] {
                let calls = vec![call(&"é".repeat(bytes)); calls];
                let text = digest(calls, (100, 65_536, bytes_max)).unwrap();
                assert!(text.len() <= size(bytes_max), "{bytes_max} {bytes}: {}", text.len());
                let most = bytes_max / BYTES_PER_TOKEN;
                assert!(count_text(&text) <= most, "{bytes_max} {bytes}: {text}");
                assert!(text.contains("oldest first:"), "{text}");
            }
        }
    }
}

#[test]
fn parts_are_named_without_their_content() {
    let url = |url: &str| Part::Image { source: MediaSource::Url(url.to_owned()), media_type: None, detail: None };
    let mut call = call("");
    call.answer.output = ToolOutput::Parts(vec![
        Part::Text("a".to_owned()),
        url("https://h/i.png"),
        url("data:image/png;base64,AAAA"),
        Part::RedactedThinking("x".to_owned()),
    ]);
    check(
        vec![call],
        (1, 64, 1_000),
        "Tool calls, oldest first:\n- t {} succeeded: a\n[picture: https://h/i.png]\n[picture]",
    );
}

fn check(calls: Vec<AnsweredCall>, bounds: (u16, u32, u32), expected: &str) {
    assert_eq!(digest(calls, bounds).as_deref(), Some(expected));
}

fn digest(calls: Vec<AnsweredCall>, bounds: (u16, u32, u32)) -> Option<String> {
    let (results_max, result_bytes_max, bytes_max) = bounds;
    let settings = ToolDigest { results_max, result_bytes_max, bytes_max, ..ToolDigest::default() };
    tool_digest(vec![turn(1, Vec::new(), calls)], &settings).text
}

fn turn(version: u64, parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
    Turn {
        version: Version(version),
        role: Role::Assistant,
        parts,
        author: None,
        provider: None,
        written: Written::default(),
        calls,
    }
}

fn call(output: &str) -> AnsweredCall {
    AnsweredCall {
        version: Version(2),
        called: ToolCalled {
            call_id: CallId::parse("c").unwrap(),
            tool_name: ToolName::parse("t").unwrap(),
            input: JsonText::parse("{}").unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: None,
        },
        answer: Answer {
            output: ToolOutput::Parts(vec![Part::Text(output.to_owned())]),
            outcome: ToolOutcome::Succeeded,
            origin: AnswerOrigin::Recorded(Version(3)),
        },
    }
}
