//! What is appended is read back, verbatim and at once.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use wire::proto::operate::v1::Scope;

use super::{created, message, messages, service};
use crate::fixture::{Fixture, list, text};

const BOTH: [Scope; 2] = [Scope::Append, Scope::Read];

#[tokio::test(flavor = "multi_thread")]
async fn typed_events_come_back_verbatim() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = created(&fixture, &service).await;
    let document = "{\"b\": 1.0,\"a\":[1e3, \"x\"]}";
    let body = format!(
        r#"{{"expectedVersion": 1, "events": [
            {{"type": "MessageAppended", "role": "user", "author": "Ada", "occurredAt": "2026-11-22T05:00:00.25Z",
              "parts": [{{"type": "text", "text": "hello"}}, {{"type": "image", "url": "https://h/i.png", "mediaType": "image/png"}},
                        {{"type": "providerItem", "provider": "openai", "item": {document}}}],
              "metadata": {document}}},
            {{"type": "ToolCalled", "callId": "c", "toolName": "look", "input": {document}, "model": "m"}},
            {{"type": "ToolReturned", "callId": "c", "output": {document}}},
            {{"type": "MessageAppended", "role": "assistant", "parts": [{{"type": "text", "text": "done"}}], "model": "m",
              "provider": "openai", "finishReason": "stop", "usage": {{"inputTokens": 7, "outputTokens": 2}}}},
            {{"type": "SystemNoted", "topic": "t", "text": "n"}},
            {{"type": "ErrorOccurred", "errorType": "rate_limit", "message": "later"}},
            {{"type": "HistorySummarised", "through": 3, "text": "Ada said hello."}},
            {{"type": "HistoryRewound", "to": 5}}
        ]}}"#
    );
    let request = service.request(Method::POST, &format!("{path}/events")).header("content-type", "application/json");
    let answer = request.body(body).send().await.unwrap();
    let token = answer.headers()["x-position-token"].to_str().unwrap().to_owned();
    assert_eq!(answer.status().as_u16(), 200);
    let commit: Value = answer.json().await.unwrap();
    assert_eq!((&commit["firstVersion"], &commit["version"]), (&json!(2), &json!(9)));
    assert_eq!(commit["positionToken"], token);
    let page = service.get(&format!("{path}/events?from=2")).await;
    let body = String::from_utf8_lossy(&page.body);
    assert_eq!(body.matches(document).count(), 4, "{body}");
    let document: Value = document.parse().unwrap();
    let events: Vec<Value> = list(&page.ok(200), "events").iter().map(content).collect();
    let expected = json!([
        {"type": "MessageAppended", "role": "user", "author": "Ada", "occurredAt": "2026-11-22T05:00:00.25Z",
         "metadata": document, "parts": [
            {"type": "text", "text": "hello"},
            {"type": "image", "url": "https://h/i.png", "mediaType": "image/png"},
            {"type": "providerItem", "provider": "openai", "item": document},
        ]},
        {"type": "ToolCalled", "callId": "c", "toolName": "look", "input": document, "model": "m"},
        {"type": "ToolReturned", "callId": "c", "toolName": "look", "output": document, "isError": false},
        {"type": "MessageAppended", "role": "assistant", "parts": [{"type": "text", "text": "done"}], "model": "m",
         "finishReason": "stop",
         "usage": {"inputTokens": 7, "outputTokens": 2, "cachedTokens": 0, "reasoningTokens": 0}},
        {"type": "SystemNoted", "topic": "t", "text": "n"},
        {"type": "ErrorOccurred", "errorType": "rate_limit", "message": "later"},
        {"type": "HistorySummarised", "through": 3, "text": "Ada said hello."},
        {"type": "HistoryRewound", "to": 5},
    ]);
    assert_eq!(Value::from(events), expected);
}

/// An event without its ids, its version and the time of its recording.
fn content(event: &Value) -> Value {
    let mut event = event.clone();
    for member in ["version", "eventId", "commitId", "recordedAt"] {
        event.as_object_mut().unwrap().remove(member).unwrap();
    }
    event
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_messages_become_events() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = created(&fixture, &service).await;
    let body = json!({"metadata": {"source": "chat"}, "messages": [
        {"role": "user", "content": "What is in the box?"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{\"in\": \"box\"}"}}
        ]},
        {"role": "tool", "tool_call_id": "c", "content": "a cat"},
        {"role": "assistant", "content": "A cat."}
    ]});
    let commit = service.post(&format!("{path}/events"), &body).await.ok(200);
    assert_eq!(commit["firstVersion"], 2);
    let page = service.get(&format!("{path}/events?kinds=ToolCalled,ToolReturned")).await.ok(200);
    let types: Vec<&str> = list(&page, "events").iter().map(|event| text(event, "type")).collect();
    assert_eq!(types, ["ToolCalled", "ToolReturned"]);
    assert!(list(&page, "events").iter().all(|event| event["metadata"] == json!({"source": "chat"})));
    let wrong = json!({"messages": [{"role": "robot", "content": "x"}]});
    let refused = service.post(&format!("{path}/events"), &wrong).await;
    assert_eq!((refused.status, refused.json()["field"].clone()), (400, json!("messages")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_the_first_answer() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    let keyed = service.with("idempotency-key", &Uuid::now_v7().to_string());
    let first = keyed.post(&path, &messages(2)).await.ok(200);
    let mut again = keyed.post(&path, &messages(2)).await.ok(200);
    assert_eq!(again["replayed"], true);
    again["replayed"] = json!(false);
    assert_eq!(first, again);
    let other = keyed.post(&path, &messages(3)).await;
    assert_eq!(other.status_and_code(), (409, "IDEMPOTENCY_KEY_REUSED".to_owned()));
}

/// JavaScript cuts texts by UTF-16 units, and writes half of a pair as an escape.
#[tokio::test(flavor = "multi_thread")]
async fn half_of_a_surrogate_pair_is_recorded_as_u_fffd() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = created(&fixture, &service).await;
    let send = |body: &'static [u8]| {
        let request = service.request(Method::POST, &format!("{path}/events"));
        request.header("content-type", "application/json").body(body).send()
    };
    let half = br#"{"events": [
        {"type": "MessageAppended", "role": "user", "parts": [{"type": "text", "text": "a\ud83d"}]},
        {"type": "ToolCalled", "callId": "c", "toolName": "look", "input": {"text": "\ude00b \ud83d\ude00"}}
    ]}"#;
    assert_eq!(send(half).await.unwrap().status(), 200);
    let events = service.get(&format!("{path}/events")).await.ok(200);
    let events = list(&events, "events");
    assert_eq!(events[1]["parts"][0]["text"], "a\u{fffd}");
    assert_eq!(events[2]["input"]["text"], "\u{fffd}b \u{1f600}");
    // Bytes that are no text are rejected.
    let refused = send(b"{\"events\": [\"\xed\xa0\xbd\"]}").await.unwrap();
    assert_eq!(refused.status(), 400);
    assert!(refused.text().await.unwrap().contains("is not UTF-8"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expected_version_is_checked() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = created(&fixture, &service).await;
    let append = |expected: u64| {
        let (service, path) = (service.clone(), format!("{path}/events"));
        async move {
            let body = json!({"events": [message("x")], "expectedVersion": expected});
            service.post(&path, &body).await
        }
    };
    assert_eq!(append(1).await.status, 200);
    let stale = append(1).await;
    assert_eq!(stale.status_and_code(), (409, "VERSION_CONFLICT".to_owned()));
    assert_eq!(stale.json()["metadata"]["current_version"], "2");
    assert_eq!(append(2).await.status, 200);
    let title = service.patch(&path, &json!({"title": "t", "expectedVersion": 2})).await;
    assert_eq!(title.status_and_code(), (409, "VERSION_CONFLICT".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_read_and_changed_without_its_events() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = created(&fixture, &service).await;
    let change =
        json!({"title": "Boxes", "metadata": {"a": 1}, "providerConversationId": "conv_1", "lastResponseId": "resp_1"});
    let changed = service.patch(&path, &change).await.ok(200);
    assert_eq!(changed["version"], 2);
    let read = service.get(&path).await.ok(200);
    assert_eq!((&read["title"], &read["metadata"]), (&json!("Boxes"), &json!({"a": 1})));
    assert_eq!((&read["owner"], read.get("events")), (&json!({"userId": "ada"}), None));
    let cleared = service.patch(&path, &json!({"title": null})).await.ok(200);
    assert_eq!(cleared["version"], 3);
    let read = service.get(&path).await.ok(200);
    assert_eq!((read.get("title"), &read["metadata"]), (None, &json!({"a": 1})));
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_cover_a_range_in_both_directions() {
    let fixture = Fixture::new().await;
    let service = service(&fixture, &BOTH).await;
    let path = format!("{}/events", created(&fixture, &service).await);
    service.post(&path, &messages(6)).await.ok(200);
    let versions = |page: &Value| -> Vec<u64> {
        let events = list(page, "events").iter();
        events.map(|event| event["version"].as_u64().unwrap()).collect()
    };
    for (query, expected, next) in [
        ("?limit=3", vec![1, 2, 3], json!(4)),
        ("?from=4&limit=3", vec![4, 5, 6], json!(7)),
        ("?from=7", vec![7], Value::Null),
        ("?from=2&to=3", vec![2, 3], Value::Null),
        ("?order=desc&limit=2", vec![7, 6], json!(5)),
        ("?order=desc&to=5&limit=9", vec![5, 4, 3, 2, 1], Value::Null),
        ("?from=8", vec![], Value::Null),
    ] {
        let page = service.get(&format!("{path}{query}")).await.ok(200);
        assert_eq!((versions(&page), &page["next"]), (expected, &next), "{query}");
    }
}
