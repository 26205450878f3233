//! Turns: which parts are looked into, altered, or dropped.

use context::outcome::DroppedKind;
use context::stages::redact::{Dropped, redact};
use context::{Answer, AnswerOrigin, AnsweredCall, Turn, Written};
use domain::event::{Role, ToolCalled, ToolOutcome, ToolOutput};
use domain::{CallId, JsonText, Label, MediaSource, Part, ToolName, Version};
use redact::{Rules, Settings};

#[test]
fn texts_and_refusals_are_altered() {
    check(Part::Text("token=abc".to_owned()), Some(Part::Text("token=[redacted:token]".to_owned())), None);
    check(Part::Refusal("token=abc".to_owned()), Some(Part::Refusal("token=[redacted:token]".to_owned())), None);
    check(thinking("token=abc", None), Some(thinking("token=[redacted:token]", None)), None);
}

#[test]
fn what_a_provider_takes_back_unaltered_is_dropped() {
    check(thinking("token=abc", Some("s")), None, Some(DroppedKind::Thinking));
    check(thinking("fine", Some("s")), Some(thinking("fine", Some("s"))), None);
    let item = |item: &str| Part::ProviderItem {
        provider: Label::parse("openai").unwrap(),
        item: JsonText::parse(item).unwrap(),
    };
    check(item(r#"{"token":"abc"}"#), None, Some(DroppedKind::ProviderItem));
    check(item(r#"{"id":"rs_1"}"#), Some(item(r#"{"id":"rs_1"}"#)), None);
}

#[test]
fn references_and_what_is_encrypted_are_not_looked_into() {
    let image =
        Part::Image { source: MediaSource::Url("https://h/i?token=abc".to_owned()), media_type: None, detail: None };
    check(image.clone(), Some(image), None);
    let encrypted = Part::RedactedThinking("token=abc".to_owned());
    check(encrypted.clone(), Some(encrypted), None);
}

#[test]
fn texts_that_come_along_are_altered() {
    for (url, expected) in [
        (
            "data:text/csv;charset=utf-8;base64,aWQsMQp0b2tlbj1hYmM=",
            "data:text/csv;charset=utf-8;base64,aWQsMQp0b2tlbj1bcmVkYWN0ZWQ6dG9rZW5d",
        ),
        ("data:text/plain,token=abc", "data:text/plain;base64,dG9rZW49W3JlZGFjdGVkOnRva2VuXQ=="),
        ("data:application/json;base64,eyJwaW4iOjF9", "data:application/json;base64,eyJwaW4iOiJbcmVkYWN0ZWQ6cGluXSJ9"),
        ("data:text/csv;base64,aWQsMQo=", "data:text/csv;base64,aWQsMQo="),
        ("data:application/pdf,token=abc", "data:application/pdf,token=abc"),
    ] {
        let file =
            |url: &str| Part::File { source: MediaSource::Url(url.to_owned()), media_type: None, filename: None };
        check(file(url), Some(file(expected)), None);
        check(file(expected), Some(file(expected)), None);
    }
}

#[test]
fn calls_and_answers_are_redacted_and_a_changed_call_loses_its_signature() {
    let mut turns = [turn(Vec::new(), vec![call(r#"{"pin":1}"#), call("{}")])];
    let found = redact(&mut turns, &rules().redactor());
    let told = &turns[0].calls;
    assert_eq!(told[0].called.input.as_str(), r#"{"pin":"[redacted:pin]"}"#);
    assert_eq!(told[0].called.signature, None);
    assert_eq!(told[1].called.signature.as_deref(), Some("s"));
    let parts = ToolOutput::Parts(vec![Part::Text("token=[redacted:token]".to_owned())]);
    assert_eq!(told[0].answer.output, parts);
    let counts: Vec<(&str, u64)> = found.iter().map(|(rule, count)| (rule.as_str(), count)).collect();
    assert_eq!(counts, [("token", 2), ("pin", 1)]);
    let version = Version(1);
    let what = DroppedKind::CallSignature;
    assert_eq!(found.dropped(), [Dropped { version, what }]);
    // The first call, and the result of both calls, which are at version 2.
    assert_eq!(found.replaced(), [1, 2].map(Version));
    let mut twice = found.clone();
    twice.merge(&found);
    assert_eq!(twice.total(), 6);
}

#[test]
fn an_event_is_named_once_however_many_secrets_it_has() {
    let secret = || Part::Text("token=abc token=def".to_owned());
    let at = |version, parts| Turn { version: Version(version), ..turn(parts, Vec::new()) };
    let mut turns =
        [at(3, vec![secret(), secret()]), at(4, vec![Part::Text("fine".to_owned())]), at(7, vec![secret()])];
    let found = redact(&mut turns, &rules().redactor());
    assert_eq!(found.replaced(), [3, 7].map(Version));
    assert_eq!(found.total(), 6);
    let mut merged = redact(&mut [at(7, vec![secret()])], &rules().redactor());
    merged.merge(&redact(&mut [at(7, vec![secret()]), at(8, vec![secret()])], &rules().redactor()));
    assert_eq!(merged.replaced(), [7, 8].map(Version));
}

/// The digests of receipts include these names.
#[test]
fn what_is_dropped_has_a_name_in_receipts() {
    let kinds = [DroppedKind::Thinking, DroppedKind::ProviderItem, DroppedKind::CallSignature];
    assert_eq!(kinds.map(DroppedKind::as_str), ["thinking", "provider_item", "call_signature"]);
}

fn check(part: Part, expected: Option<Part>, dropped: Option<DroppedKind>) {
    let mut turns = [turn(vec![part], Vec::new())];
    let found = redact(&mut turns, &rules().redactor());
    assert_eq!(turns[0].parts, Vec::from_iter(expected));
    let version = Version(1);
    let dropped = dropped.map(|what| Dropped { version, what });
    assert_eq!(found.dropped(), Vec::from_iter(dropped));
    let is_replaced = found.total() > 0 && dropped.is_none();
    assert_eq!(found.replaced(), Vec::from_iter(is_replaced.then_some(version)));
    // Nothing is put into the place of what is dropped.
    assert!(dropped.is_none() || found.tokens_added() == 0);
}

fn turn(parts: Vec<Part>, calls: Vec<AnsweredCall>) -> Turn {
    Turn {
        version: Version(1),
        role: Role::Assistant,
        parts,
        author: None,
        provider: None,
        written: Written::default(),
        calls,
    }
}

fn call(input: &str) -> AnsweredCall {
    AnsweredCall {
        version: Version(1),
        called: ToolCalled {
            call_id: CallId::parse("c").unwrap(),
            tool_name: ToolName::parse("t").unwrap(),
            input: JsonText::parse(input).unwrap(),
            model: None,
            provider: None,
            provider_response_id: None,
            signature: Some("s".to_owned()),
        },
        answer: Answer {
            output: ToolOutput::Parts(vec![Part::Text("token=abc".to_owned())]),
            outcome: ToolOutcome::Succeeded,
            origin: AnswerOrigin::Recorded(Version(2)),
        },
    }
}

fn thinking(text: &str, signature: Option<&str>) -> Part {
    Part::Thinking { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

fn rules() -> Rules {
    Rules::compile(&Settings::default()).unwrap()
}
