//! Run parts: conversions, and every bound at its edge.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use bytes::Bytes;
use domain::bounds::{
    BATCH_DELTA_BYTES_MAX, DELTA_BYTES_MAX, LABEL_BYTES_MAX, OPEN_CALLS_MAX, PARTS_PER_BATCH_MAX, RUN_ERROR_BYTES_MAX,
};
use domain::event::{
    ErrorOccurred, MessageAppended, Role, SystemNoted, ToolCalled, ToolOutcome, ToolOutput, ToolReturned,
};
use domain::{
    CallId, Fact, JsonText, Label, Part, RunEnd, RunOutcome, RunPart, RunPartKind, ToolName, ViolationReason,
};
use proptest::prelude::*;
use wire::commit::CorruptCommit;
use wire::proto::run::v1 as proto;
use wire::run::{decode_batch, encode_batch, part_from_proto, part_to_proto, parts_from_proto};

fn call_id(id: &str) -> CallId {
    CallId::parse(id).unwrap()
}

fn tool(name: &str) -> ToolName {
    ToolName::parse(name).unwrap()
}

fn said(text: &str) -> Fact {
    Fact::MessageAppended(MessageAppended::new(Role::Assistant, vec![Part::Text(text.to_owned())]))
}

fn called(id: &str) -> Fact {
    Fact::ToolCalled(ToolCalled {
        call_id: call_id(id),
        tool_name: tool("search"),
        input: JsonText::parse("{}").unwrap(),
        model: None,
        provider: None,
        provider_response_id: None,
        signature: None,
    })
}

fn returned(id: &str, output: &str) -> ToolReturned {
    ToolReturned {
        call_id: call_id(id),
        tool_name: Some(tool("search")),
        output: ToolOutput::Parts(vec![Part::Text(output.to_owned())]),
        outcome: ToolOutcome::Succeeded,
    }
}

fn end(outcome: RunOutcome, message: Option<&str>) -> RunPartKind {
    RunPartKind::RunEnded(RunEnd {
        outcome,
        error: message.map(|message| ErrorOccurred {
            error_type: Label::parse("overloaded").unwrap(),
            message: message.to_owned(),
        }),
    })
}

fn every_kind() -> Vec<RunPartKind> {
    vec![
        RunPartKind::TextDelta("a\0é".to_owned()),
        RunPartKind::ThinkingDelta(" ".to_owned()),
        RunPartKind::RefusalDelta("no".to_owned()),
        RunPartKind::CallBegan { index: 0, call_id: call_id("c"), tool_name: tool("search") },
        RunPartKind::CallInput { index: u32::MAX, fragment: "{\"a".to_owned() },
        RunPartKind::StepFinished(vec![said("done"), called("c")]),
        RunPartKind::StepFinished(vec![]),
        RunPartKind::ToolReturned(returned("c", "ok")),
        RunPartKind::KeptAlive,
        end(RunOutcome::Completed, None),
        end(RunOutcome::Stopped, None),
        end(RunOutcome::Failed, Some("slow down")),
        end(RunOutcome::Failed, Some("")),
        end(RunOutcome::Abandoned, None),
    ]
}

fn numbered(first: u64, kinds: Vec<RunPartKind>) -> Vec<RunPart> {
    let numbered = (first..).zip(kinds);
    numbered.map(|(number, kind)| RunPart { number, kind }).collect()
}

#[test]
fn every_part_round_trips() {
    for part in numbered(1, every_kind()) {
        assert_eq!(part_from_proto(part_to_proto(&part)), Ok(part));
    }
}

/// Every later version reads published parts.
#[test]
fn golden_parts() {
    let lines: Vec<String> =
        numbered(1, every_kind()).iter().map(|part| hex(&encode_batch(std::slice::from_ref(part)))).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

/// Parts of these kinds, numbered from 1: accepted, or the first field that breaks a rule.
fn check(case: &str, kinds: Vec<RunPartKind>, expected: Option<(ViolationReason, &str)>) {
    check_parts(case, &numbered(1, kinds), expected);
}

fn check_parts(case: &str, parts: &[RunPart], expected: Option<(ViolationReason, &str)>) {
    let protos = parts.iter().map(part_to_proto).collect();
    let outcome = parts_from_proto(protos);
    let broken = outcome.as_ref().err().map(|broken| (broken.reason, broken.field.clone()));
    assert_eq!(broken, expected.map(|(reason, field)| (reason, field.into())), "{case}");
    if let Ok(taken) = outcome {
        assert_eq!(taken, parts, "{case}");
    }
}

fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

#[test]
fn deltas_at_their_bounds_and_one_past() {
    use ViolationReason::{Missing, TooLong};
    type Make = fn(String) -> RunPartKind;
    let kinds: [(&str, Make); 4] = [
        ("text_delta", RunPartKind::TextDelta),
        ("thinking_delta", RunPartKind::ThinkingDelta),
        ("refusal_delta", RunPartKind::RefusalDelta),
        ("call_input.fragment", |fragment| RunPartKind::CallInput { index: 1, fragment }),
    ];
    for (field, make) in kinds {
        let field = format!("parts[0].{field}");
        check(&field, vec![make(long(1))], None);
        check(&field, vec![make(long(DELTA_BYTES_MAX))], None);
        let past = make(long(DELTA_BYTES_MAX + 1));
        check(&field, vec![past], Some((TooLong, &field)));
        check(&field, vec![make(String::new())], Some((Missing, &field)));
        let full = BATCH_DELTA_BYTES_MAX / DELTA_BYTES_MAX;
        let mut batch = vec![make(long(DELTA_BYTES_MAX)); full];
        check("a full batch", batch.clone(), None);
        batch.push(make(long(1)));
        check("one past", batch, Some((TooLong, "parts")));
    }
}

#[test]
fn steps_and_ends_at_their_bounds_and_one_past() {
    use ViolationReason::{Malformed, TooLong};
    let calls = |count| {
        let calls = (0..count).map(|n| called(&format!("c{n}")));
        RunPartKind::StepFinished([said("a")].into_iter().chain(calls).collect())
    };
    check("all calls", vec![calls(OPEN_CALLS_MAX)], None);
    let events = "parts[0].step_finished.events";
    let too_many = calls(OPEN_CALLS_MAX + 1);
    check("one too many", vec![too_many], Some((TooLong, events)));
    let note = Fact::from(SystemNoted { topic: None, text: "n".to_owned() });
    let noted = RunPartKind::StepFinished(vec![said("a"), note]);
    let second = format!("{events}[1]");
    check("a note", vec![noted], Some((Malformed, &second)));
    let failed = |bytes: usize| end(RunOutcome::Failed, Some(&long(bytes)));
    check("a long error", vec![failed(RUN_ERROR_BYTES_MAX)], None);
    let message = "parts[0].run_ended.error_message";
    let past = vec![failed(RUN_ERROR_BYTES_MAX + 1)];
    check("one past", past, Some((TooLong, message)));
}

#[test]
fn a_batch_is_dense_and_ends_with_an_end_only() {
    use ViolationReason::{Malformed, Missing, OutOfRange, TooLong};
    let delta = || RunPartKind::TextDelta("a".to_owned());
    let ended = || end(RunOutcome::Completed, None);
    check("none", vec![], Some((Missing, "parts")));
    check("full", vec![delta(); PARTS_PER_BATCH_MAX], None);
    let too_many = vec![delta(); PARTS_PER_BATCH_MAX + 1];
    check("one too many", too_many, Some((TooLong, "parts")));
    check("an end", vec![ended()], None);
    check("an end last", vec![delta(), ended()], None);
    let late = vec![ended(), delta()];
    check("behind an end", late, Some((Malformed, "parts[1]")));
    let twice = vec![delta(), ended(), ended()];
    check("ends twice", twice, Some((Malformed, "parts[2]")));
    let at = |numbers: &[u64]| -> Vec<RunPart> {
        let numbers = numbers.iter().copied();
        let part = |number| RunPart { number, kind: RunPartKind::KeptAlive };
        numbers.map(part).collect()
    };
    check_parts("later ones", &at(&[7, 8, 9]), None);
    check_parts("the last number", &at(&[u64::MAX]), None);
    let number = |index: usize| format!("parts[{index}].number");
    check_parts("number 0", &at(&[0]), Some((Missing, &number(0))));
    for (numbers, wrong) in
        [([1, 3].as_slice(), 1), (&[1, 1], 1), (&[2, 1], 1), (&[1, 2, 4], 2), (&[u64::MAX, u64::MAX], 1)]
    {
        let rejected = (OutOfRange, number(wrong));
        let expected = Some(&rejected).map(|(rule, field)| (*rule, field.as_str()));
        check_parts(&format!("{numbers:?}"), &at(numbers), expected);
    }
}

#[test]
fn fields_of_protobuf_that_no_part_has() {
    use ViolationReason::{Malformed, Missing, TooLong};
    let check = |kind: Option<proto::part::Kind>, expected: (ViolationReason, &str)| {
        let broken = part_from_proto(proto::Part { number: 1, kind }).unwrap_err();
        assert_eq!((broken.reason, broken.field.to_string().as_str()), expected);
    };
    let began = |call_id: &str, tool_name: &str| {
        Some(proto::part::Kind::CallBegan(proto::CallBegan {
            index: 0,
            call_id: call_id.to_owned(),
            tool_name: tool_name.to_owned(),
        }))
    };
    check(None, (Missing, "kind"));
    check(began("", "t"), (Missing, "call_began.call_id"));
    check(began("c", ""), (Missing, "call_began.tool_name"));
    let label = long(LABEL_BYTES_MAX + 1);
    check(began(&label, "t"), (TooLong, "call_began.call_id"));
    check(began("c", &label), (TooLong, "call_began.tool_name"));
    let ended =
        |outcome: i32| Some(proto::part::Kind::RunEnded(proto::RunEnded { outcome, ..proto::RunEnded::default() }));
    for outcome in [0, 99] {
        let broken = part_from_proto(proto::Part { number: 1, kind: ended(outcome) });
        assert_eq!(broken.unwrap_err().field, "run_ended.outcome");
    }
    let event = wire::proto::event::v1::Event::default();
    let step = proto::StepFinished { events: vec![event] };
    let broken =
        part_from_proto(proto::Part { number: 1, kind: Some(proto::part::Kind::StepFinished(step)) }).unwrap_err();
    assert!(
        [Missing, Malformed].contains(&broken.reason) && broken.field.relative_to("step_finished.events[0]").is_some(),
        "{broken:?}"
    );
}

#[test]
fn a_stored_step_may_hold_an_empty_text_and_a_new_one_may_not() {
    let message = MessageAppended::new(Role::Assistant, vec![Part::Text(String::new())]);
    let step = RunPartKind::StepFinished(vec![Fact::MessageAppended(message)]);
    let parts = numbered(1, vec![step.clone()]);
    assert_eq!(decode_batch(encode_batch(&parts)).unwrap(), parts);
    let field = "parts[0].step_finished.events[0].message_appended.parts[0].text";
    let rejected = Some((ViolationReason::Missing, field));
    check("an empty text", vec![step], rejected);
}

#[test]
fn invalid_bytes_are_corrupt_batches() {
    let check = |bytes: &'static [u8], expected: CorruptCommit| {
        assert_eq!(decode_batch(Bytes::from_static(bytes)).unwrap_err(), expected);
    };
    check(b"\xff\xff", CorruptCommit::Body);
    check(b"", CorruptCommit::Field("parts".into()));
    // One empty part.
    check(b"\x0a\x00", CorruptCommit::Field("parts[0].kind".into()));
}

fn any_kind() -> impl Strategy<Value = RunPartKind> {
    let text = || "\\PC{1,40}";
    prop_oneof![
        text().prop_map(RunPartKind::TextDelta),
        text().prop_map(RunPartKind::ThinkingDelta),
        text().prop_map(RunPartKind::RefusalDelta),
        (any::<u32>(), "[a-z]{1,9}", "[a-z]{1,9}").prop_map(|(index, id, name)| {
            RunPartKind::CallBegan { index, call_id: call_id(&id), tool_name: tool(&name) }
        }),
        (any::<u32>(), text()).prop_map(|(index, fragment)| RunPartKind::CallInput { index, fragment }),
        prop::collection::vec("[a-z]{1,9}", 0..4)
            .prop_map(|ids| RunPartKind::StepFinished(ids.iter().map(|id| called(id)).collect())),
        text().prop_map(|text| RunPartKind::StepFinished(vec![said(&text)])),
        ("[a-z]{1,9}", text()).prop_map(|(id, output)| RunPartKind::ToolReturned(returned(&id, &output))),
        Just(RunPartKind::KeptAlive),
    ]
}

fn any_end() -> impl Strategy<Value = RunPartKind> {
    let outcomes = vec![RunOutcome::Completed, RunOutcome::Stopped, RunOutcome::Failed, RunOutcome::Abandoned];
    let error = prop::option::of("\\PC{0,40}");
    (prop::sample::select(outcomes), error).prop_map(|(outcome, message)| end(outcome, message.as_deref()))
}

proptest! {
    #[test]
    fn any_batch_decodes_to_what_was_encoded(
        first in 1..u64::MAX / 2,
        kinds in prop::collection::vec(any_kind(), 1..40),
        last in prop::option::of(any_end()),
    ) {
        let parts = numbered(first, kinds.into_iter().chain(last).collect());
        prop_assert_eq!(decode_batch(encode_batch(&parts)).unwrap(), parts);
    }

    #[test]
    fn decoding_any_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode_batch(bytes.into());
    }
}
