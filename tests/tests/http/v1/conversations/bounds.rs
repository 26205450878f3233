//! The bounds of a request, and the names of what breaks them.

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use super::{created, message, messages, service};
use crate::fixture::Fixture;

async fn check(service: &HttpClient, path: &str, body: Value, expected: (u16, &str, &str)) {
    let answer = service.post(path, &body).await;
    let problem = answer.json();
    let field = problem["field"].as_str().unwrap_or_default();
    let (status, code) = answer.status_and_code();
    assert_eq!((status, code.as_str(), field), expected, "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_has_1_to_500_events() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let whole = service.post(&path, &messages(500)).await.ok(200);
    assert_eq!(whole["version"], 501);
    check(&service, &path, messages(501), (400, "TOO_MANY_EVENTS", "events")).await;
    check(&service, &path, messages(0), (400, "NO_EVENTS", "events")).await;
    let end = service.get(&format!("{path}?from=502")).await.ok(200);
    assert_eq!(end["version"], 501);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_at_most_four_mebibytes() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let body = |bytes: usize| {
        let events: Vec<Value> = (0..9).map(|_| message(&"x".repeat(460_000))).collect();
        let mut body = json!({"events": events});
        let rest = bytes - body.to_string().len();
        body["events"][0] = message(&"x".repeat(460_000 + rest));
        body
    };
    assert_eq!(service.post(&path, &body(4 * 1024 * 1024)).await.status, 200);
    let over = service.post(&path, &body(4 * 1024 * 1024 + 1)).await;
    assert_eq!(over.status, 413);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_the_member() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &[Scope::Append, Scope::Read]).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    for (body, code, field) in rejected() {
        check(&service, &path, body, (400, code, field)).await;
    }
    let result = second(json!({"type": "ToolReturned", "callId": "none", "output": 1}));
    let not_open = (409, "TOOL_CALL_NOT_OPEN", "events[1].callId");
    check(&service, &path, result, not_open).await;
    let end = service.get(&path).await.ok(200);
    assert_eq!(end["version"], 1, "nothing is recorded partially");
}

/// A body whose second event is this one.
fn second(event: Value) -> Value {
    let events = vec![message("x"), event];
    json!({"events": events})
}

/// Bodies, with the code and the field of their errors.
fn rejected() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (json!({}), "FIELD_MISSING", "events"),
        (json!({"events": [], "messages": []}), "FIELD_CONFLICT", "messages"),
        (json!({"events": [], "metadata": {}}), "FIELD_CONFLICT", "metadata"),
        (json!({"events": [], "more": 1}), "FIELD_UNKNOWN", "more"),
        (second(json!({"type": "RunStarted"})), "FIELD_MALFORMED", "events[1].type"),
        (second(json!({"type": "MessageAppended"})), "FIELD_MISSING", "events[1].role"),
        (second(json!({"type": "SystemNoted", "text": "n", "role": "user"})), "FIELD_MALFORMED", "events[1].role"),
        (
            second(json!({"type": "ToolCalled", "callId": "", "toolName": "t", "input": {}})),
            "FIELD_MISSING",
            "events[1].callId",
        ),
        (
            second(json!({"type": "MessageAppended", "role": "user", "parts": [{"type": "image", "text": "x"}]})),
            "FIELD_MISSING",
            "events[1].parts[0].url",
        ),
        (
            second(json!({"type": "MessageAppended", "role": "user", "parts": [{"type": "text", "text": ""}]})),
            "FIELD_MISSING",
            "events[1].parts[0].text",
        ),
        (
            second(json!({"type": "SystemNoted", "text": "n", "occurredAt": "yesterday"})),
            "FIELD_MALFORMED",
            "events[1].occurredAt",
        ),
        (second(json!({"type": "SystemNoted", "text": "n", "metadata": []})), "INVALID_JSON", "events[1].metadata"),
    ]
}
