//! Requests of the SDK, and the errors of invalid ones.

use domain::bounds::{EVENT_BYTES_MAX, PARTS_MAX};
use domain::content::MediaSource;
use domain::event::{ToolOutcome, ToolOutput};
use domain::{JsonText, Label, ToolName};

use super::*;
use crate::denial::{Denial, denial_result};

fn with(messages: &str) -> String {
    format!(r#"{{"id":"chat","trigger":"submit-message","messages":[{messages}]}}"#)
}

fn user(parts: &str) -> String {
    with(&format!(r#"{{"id":"u1","role":"user","parts":[{parts}]}}"#))
}

fn assistant(parts: &str) -> String {
    with(&format!(r#"{{"id":"a1","role":"assistant","parts":[{parts}]}}"#))
}

fn check_user_message(parts: &str, expected: &[Part]) {
    let request = ChatRequest::parse(user(parts).as_bytes()).unwrap();
    let message = request.user_message.unwrap();
    assert_eq!(message.message_id.as_deref(), Some("u1"));
    assert_eq!(message.parts, expected);
}

fn check_answers(parts: &str, expected: &[ToolAnswer]) {
    let request = ChatRequest::parse(assistant(parts).as_bytes()).unwrap();
    assert_eq!(request.user_message, None);
    assert_eq!(request.answers, expected);
}

fn check_error(body: &str, field: &str, reason: ViolationReason) {
    let error = ChatRequest::parse(body.as_bytes()).unwrap_err();
    assert_eq!((error.field.to_string().as_str(), error.reason), (field, reason), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
}

fn label(text: &str) -> Option<Label> {
    Label::parse(text).ok()
}

fn returned(output: ToolOutput, outcome: ToolOutcome) -> ToolReturned {
    ToolReturned { call_id: CallId::parse("c1").unwrap(), tool_name: ToolName::parse("get-time").ok(), output, outcome }
}

#[test]
fn user_messages() {
    check_user_message(
        r#"{"type":"text","text":"hi \u0000"},{"type":"data-seen","data":1},{"type":"text","text":""}"#,
        &[
            Part::Text("hi \0".to_owned()),
            Part::ProviderItem {
                provider: Label::parse("ai-sdk").unwrap(),
                item: JsonText::parse(r#"{"type":"data-seen","data":1}"#).unwrap(),
            },
        ],
    );
    check_user_message(
        r#"{"type":"file","mediaType":"image/png","url":"data:image/png;base64,AA=="}"#,
        &[Part::Image {
            source: MediaSource::Url("data:image/png;base64,AA==".to_owned()),
            media_type: label("image/png"),
            detail: None,
        }],
    );
    check_user_message(
        r#"{"type":"file","mediaType":"text/csv","filename":"a.csv","url":"urn:hansard:file:f1"}"#,
        &[Part::File {
            source: MediaSource::FileId("f1".to_owned()),
            media_type: label("text/csv"),
            filename: label("a.csv"),
        }],
    );
}

#[test]
fn answers_to_calls() {
    let tool = |rest: &str| format!(r#"{{"type":"tool-get-time","toolCallId":"c1",{rest}}}"#);
    let json = |text: &str| ToolOutput::Json(JsonText::parse(text).unwrap());
    let text = |text: &str| ToolOutput::Parts(vec![Part::Text(text.to_owned())]);
    let succeeded = |output| ToolAnswer::Returned(returned(output, ToolOutcome::Succeeded));
    for (rest, expected) in [
        (r#""state":"output-available","output":{"a": 1e400}"#, succeeded(json("{\"a\": 1e400}"))),
        (r#""state":"output-available","output":"noon""#, succeeded(text("noon"))),
        (r#""state":"output-available""#, succeeded(json("null"))),
        (
            r#""state":"output-error","errorText":"late""#,
            ToolAnswer::Returned(returned(text("late"), ToolOutcome::Failed)),
        ),
        (
            r#""state":"approval-responded","approval":{"id":"c1","approved":true}"#,
            ToolAnswer::Approved(CallId::parse("c1").unwrap()),
        ),
        (
            r#""state":"approval-responded","approval":{"id":"c1","approved":false,"reason":"no"}"#,
            ToolAnswer::Returned(ToolReturned {
                tool_name: ToolName::parse("get-time").ok(),
                ..denial_result(CallId::parse("c1").unwrap(), Denial { reason: Some("no".to_owned()) })
            }),
        ),
    ] {
        check_answers(&tool(rest), &[expected]);
    }
    check_answers(
        r#"{"type":"dynamic-tool","toolName":"get-time","toolCallId":"c1","state":"output-available","output":"noon"}"#,
        &[succeeded(text("noon"))],
    );
    for rest in
        [r#""state":"input-available","input":{}"#, r#""state":"output-available","preliminary":true,"output":1"#]
    {
        check_answers(&tool(rest), &[]);
    }
    check_answers(r#"{"type":"step-start"},{"type":"text","text":"x"}"#, &[]);
}

#[test]
fn a_user_message_may_follow_answers() {
    let body = with(
        r#"{"role":"user","parts":[]},
        {"role":"assistant","parts":[{"type":"tool-t","toolCallId":"c1","state":"output-available","output":1}]},
        {"role":"user","parts":[{"type":"text","text":"and?"}]}"#,
    );
    let request = ChatRequest::parse(body.as_bytes()).unwrap();
    assert_eq!(request.user_message.unwrap().parts, [Part::Text("and?".to_owned())]);
    assert_eq!(request.answers.len(), 1);
}

#[test]
fn instructions_have_the_indexes_of_their_messages() {
    use InstructionRole::{Developer, System, Tool};
    let check = |roles: &[&str], expected: &[(usize, InstructionRole)]| {
        let messages =
            roles.iter().map(|role| format!(r#"{{"role":"{role}","parts":[{{"type":"text","text":"x"}}]}}"#));
        let body = with(&messages.collect::<Vec<_>>().join(","));
        let request = ChatRequest::parse(body.as_bytes()).unwrap();
        assert_eq!(request.instructions, expected, "{roles:?}");
    };
    check(&[], &[]);
    check(&["user", "assistant", "user"], &[]);
    check(&["system", "user"], &[(0, System)]);
    check(&["user", "assistant", "developer"], &[(2, Developer)]);
    // Also before the last message that is read, and more than one.
    check(&["tool", "system", "user", "assistant", "user"], &[(0, Tool), (1, System)]);
}

#[test]
fn triggers() {
    let trigger = |rest: &str| {
        let body = format!(r#"{{"messages":[]{rest}}}"#);
        ChatRequest::parse(body.as_bytes()).unwrap().trigger
    };
    let message_id = Some("m".to_owned());
    assert_eq!(trigger(""), Trigger::Submit { message_id: None });
    assert_eq!(
        trigger(r#","trigger":"submit-message","messageId":"m""#),
        Trigger::Submit { message_id: message_id.clone() }
    );
    assert_eq!(trigger(r#","trigger":"regenerate-message","messageId":"m""#), Trigger::Regenerate { message_id });
}

#[test]
fn errors_name_the_path_and_never_quote_the_value() {
    use ViolationReason::{InvalidJson, Malformed, Missing, TooLong};
    check_error("\"secret\"", "", InvalidJson);
    check_error("{secret", "", InvalidJson);
    check_error("{}", "messages", Missing);
    check_error(r#"{"messages":"secret"}"#, "messages", InvalidJson);
    check_error(r#"{"messages":[],"trigger":"secret"}"#, "trigger", Malformed);
    check_error(&with("\"secret\""), "messages[0]", InvalidJson);
    check_error(&with(r#"{"role":"secret"}"#), "messages[0].role", Malformed);
    check_error(&with(r#"{"role":"user"}"#), "messages[0].parts", Missing);
    check_error(&user(""), "messages[0].parts", Missing);
    check_error(&user(r#"{"text":"secret"}"#), "messages[0].parts[0].type", Missing);
    check_error(&user(r#"{"type":"secret"}"#), "messages[0].parts[0].type", Malformed);
    check_error(&user(r#"{"type":"text","text":["secret"]}"#), "messages[0].parts[0].text", InvalidJson);
    check_error(&user(r#"{"type":"file","mediaType":"image/png"}"#), "messages[0].parts[0].url", Missing);
    check_error(
        &assistant(r#"{"type":"tool-t","toolCallId":"","state":"x"}"#),
        "messages[0].parts[0].toolCallId",
        Missing,
    );
    check_error(
        &assistant(r#"{"type":"tool-t","toolCallId":"c","state":"approval-responded"}"#),
        "messages[0].parts[0].approval",
        Missing,
    );
    let long = "x".repeat(ID_BYTES_MAX + 1);
    check_error(&format!(r#"{{"messages":[],"id":"{long}"}}"#), "id", TooLong);
}

#[test]
fn bounds_at_their_edge_and_one_past() {
    let many = |count: usize, one: &str| vec![one; count].join(",");
    let system = r#"{"role":"system"}"#;
    assert!(ChatRequest::parse(with(&many(MESSAGES_MAX, system)).as_bytes()).is_ok());
    check_error(&with(&many(MESSAGES_MAX + 1, system)), "messages", ViolationReason::TooLong);
    let text = r#"{"type":"text","text":"x"}"#;
    assert!(ChatRequest::parse(user(&many(PARTS_MAX, text)).as_bytes()).is_ok());
    check_error(&user(&many(PARTS_MAX + 1, text)), "messages[0].parts", ViolationReason::TooLong);
    let sized = |bytes: usize| user(&format!(r#"{{"type":"text","text":"{}"}}"#, "x".repeat(bytes)));
    assert!(ChatRequest::parse(sized(EVENT_BYTES_MAX).as_bytes()).is_ok());
    check_error(&sized(EVENT_BYTES_MAX + 1), "messages[0].parts[0].text", ViolationReason::TooLong);
}
