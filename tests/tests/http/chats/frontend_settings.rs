//! What an agent accepts from its frontends and sends to them: details of tool calls, files, the page's context.

use reqwest::Method;
use serde_json::{Value, json};
use tests::events::{call, result, user};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::operator::echo;
use wire::proto::operate::v1 as proto;
use wire::proto::operate::v1::{ClientContextField, IdentityMode, ToolCallDetail};

use crate::fixture::{Fixture, begin, list};
use crate::turns::sse::EventStream;

const INPUT: &str = "secret-input";
const OUTPUT: &str = "secret-output";
const TOOL: &str = "search";
const PAGE: &str = "https://shop.example";

/// Sets the agent's settings; its tool has a webhook. Waits until the gateway applies them.
async fn set(fixture: &Fixture, frontend: proto::FrontendSettings, expected: &Value) {
    let tool = proto::ToolSettings {
        tool_name: TOOL.to_owned(),
        input_schema_json: "{}".to_owned(),
        webhook_url: "http://127.0.0.1:1/hook".to_owned(),
        ..proto::ToolSettings::default()
    };
    let settings = proto::AgentSettings {
        identity_mode: IdentityMode::Open.into(),
        tools: vec![tool],
        frontend: Some(frontend),
        ..echo()
    };
    fixture.operator.settings(fixture.agent_id, settings).await;
    let frontend = fixture.frontend();
    eventually("a gateway that applies the settings", || async {
        let limits = frontend.get("/v1/limits").await.ok(200);
        (limits["frontend"] == *expected).then_some(())
    })
    .await;
}

fn details(detail: ToolCallDetail) -> proto::FrontendSettings {
    proto::FrontendSettings { tool_calls: detail.into(), ..proto::FrontendSettings::default() }
}

/// Everything that a frontend can read of a chat, by path.
async fn answers(client: &HttpClient, chat: &str) -> Vec<(String, String)> {
    let exports = ["json", "csv", "ndjson", "openai"].map(|format| format!("/api/chats/{chat}/export?format={format}"));
    let mut paths = vec![format!("/api/chats/{chat}?include=events"), format!("/v1/chat/sessions/{chat}/messages")];
    paths.extend(exports);
    let mut answers = Vec::new();
    for path in paths {
        let answer = client.get(&path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answers.push((path, answer.text()));
    }
    let path = format!("/api/chats/{chat}/events");
    let mut stream = EventStream::open(client.request(Method::GET, &path)).await;
    let mut events = String::new();
    while let Some(event) = stream.next().await {
        events.push_str(&event.data);
        if event.name.as_deref() == Some("caught-up") {
            break;
        }
    }
    answers.push((path, events));
    answers
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agent_decides_what_frontends_get_of_tool_calls() {
    let fixture = Fixture::new().await;
    let client = fixture.session("s");
    let chat = begin(&client, &json!({})).await;
    let input = json!({ "q": INPUT }).to_string();
    let output = json!({ "found": OUTPUT }).to_string();
    let events = vec![user("q"), call("c1", &input), result("c1", &output)];
    fixture.agent.append(&chat, events).await;
    let check = async |detail: ToolCallDetail, name: &str, expected: [bool; 3]| {
        set(&fixture, details(detail), &json!({"tool_calls": name})).await;
        for (path, answer) in answers(&client, &chat).await {
            let seen = [TOOL, INPUT, OUTPUT].map(|text| answer.contains(text));
            // Sessions have texts only.
            let expected = if path.starts_with("/v1/") { [false; 3] } else { expected };
            assert_eq!(seen, expected, "{name}, {path}: {answer}");
        }
        let path = format!("/v1/admin/conversations/{chat}/events");
        let all = fixture.admin().get(&path).await.text();
        assert!(all.contains(INPUT) && all.contains(OUTPUT), "{all}");
    };
    check(ToolCallDetail::Unspecified, "names", [true, false, false]).await;
    check(ToolCallDetail::Names, "names", [true, false, false]).await;
    // The bytes of an event are exported if all of it is disclosed.
    let exported = client.get(&format!("/api/chats/{chat}/export")).await.ok(200);
    let has_bytes = list(&exported, "events").iter().map(|event| !event["raw"].is_null());
    assert!(has_bytes.eq([true, true, false, false]), "{exported}");
    check(ToolCallDetail::Hidden, "hidden", [false; 3]).await;
    check(ToolCallDetail::Full, "full", [true; 3]).await;
}

/// `{status, code, field}` of a message with these parts, by both endpoints.
async fn sent(client: &HttpClient, parts: &Value) -> Vec<(u16, Value, Value)> {
    let chat = begin(client, &json!({})).await;
    let message = json!({"id": "m", "role": "user", "parts": parts});
    let other = uuid::Uuid::now_v7().to_string();
    let mut seen = Vec::new();
    for (path, body) in [
        (format!("/api/chats/{chat}/messages"), json!({ "parts": parts })),
        ("/api/chat".to_owned(), json!({"id": other, "messages": [message]})),
    ] {
        let answer = client.post(&path, &body).await;
        let problem: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        seen.push((answer.status, problem["code"].clone(), problem["detail"].clone()));
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_checked_by_their_content() {
    let fixture = Fixture::new().await;
    let client = fixture.session("s");
    let text = |url: &str| json!({"type": "file", "mediaType": "text/plain", "filename": "a.txt", "url": url});
    let hello = text("data:text/plain;base64,aGVsbG8=");
    let pdf = text("data:text/plain;base64,JVBERi0=");
    let remote = text("https://site.example/a.txt");
    for (status, ..) in sent(&client, &json!([pdf])).await {
        assert_eq!(status, 200, "without settings, any file is recorded");
    }
    let accepted = |types: &[&str]| proto::FrontendSettings {
        attachments: Some(proto::AttachmentSettings {
            media_types: types.iter().map(|name| (*name).to_owned()).collect(),
            file_bytes_max: 5,
            files_max: 2,
        }),
        ..proto::FrontendSettings::default()
    };
    let shown = |types: &[&str]| json!({"tool_calls": "names", "attachments": {"media_types": types, "file_bytes_max": 5, "files_max": 2}});
    let check = async |parts: Value, expected: (u16, &str)| {
        for (status, code, detail) in sent(&client, &parts).await {
            assert_eq!((status, code.as_str().unwrap_or_default()), expected, "{detail}");
            if status == 415 {
                assert!(detail.as_str().unwrap().contains("the agent accepts"));
            }
        }
    };
    let refused = (415, "ATTACHMENT_NOT_ACCEPTED");
    set(&fixture, accepted(&["text/plain"]), &shown(&["text/plain"])).await;
    check(json!([hello]), (200, "")).await;
    check(json!([hello, hello]), (200, "")).await;
    check(json!([hello, hello, hello]), (400, "FIELD_OUT_OF_RANGE")).await;
    check(json!([pdf]), refused).await;
    check(json!([remote]), refused).await;
    let long = text("data:text/plain;base64,aGVsbG8h");
    check(json!([long]), (400, "FIELD_TOO_LONG")).await;
    set(&fixture, accepted(&[]), &shown(&[])).await;
    check(json!([hello]), refused).await;
    check(json!([{"type": "text", "text": "hi"}]), (200, "")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_accepted_fields_of_the_page_are_recorded() {
    let fixture = Fixture::new().await;
    let client = fixture.session("s");
    let context = json!({
        "pageUrl": "https://shop.example/cart?token=1",
        "referrer": "https://shop.example/",
        "userAgent": "a browser",
        "locale": "en-GB",
        "timezone": "Europe/London",
        "customMetadata": {"plan": "gold"},
    });
    let recorded = async || {
        let chat = begin(&client, &json!({ "context": context })).await;
        let chat = client.get(&format!("/api/chats/{chat}")).await.ok(200);
        chat["context"].clone()
    };
    assert_eq!(recorded().await, context);
    let fields = |fields: &[ClientContextField]| proto::FrontendSettings {
        client_context: Some(proto::ClientContextSettings {
            fields: fields.iter().map(|field| i32::from(*field)).collect(),
        }),
        ..proto::FrontendSettings::default()
    };
    let two = [ClientContextField::Locale, ClientContextField::CustomMetadata];
    let shown = json!({"tool_calls": "names", "context": ["locale", "customMetadata"]});
    set(&fixture, fields(&two), &shown).await;
    let expected = json!({"locale": "en-GB", "customMetadata": {"plan": "gold"}});
    assert_eq!(recorded().await, expected);
    let none = json!({"tool_calls": "names", "context": []});
    set(&fixture, fields(&[]), &none).await;
    assert_eq!(recorded().await, Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_pages_of_the_key_read_the_settings() {
    let fixture = Fixture::new().await;
    let anybody = fixture.stack.http_client();
    let limits = anybody.get("/v1/limits").await.ok(200);
    assert_eq!(limits["frontend"], Value::Null);
    let limits = anybody.with("x-api-key", "hp_unknown").get("/v1/limits").await.ok(200);
    assert_eq!(limits["frontend"], Value::Null);
    let request = proto::CreateApiKeyRequest {
        agent_id: fixture.agent_id.to_owned(),
        allowed_origins: vec![PAGE.to_owned()],
        ..proto::CreateApiKeyRequest::default()
    };
    let key = fixture.operator.registry().create_api_key(request).await.unwrap().into_inner().secret;
    let of_page = |origin: &str| anybody.with("x-api-key", &key).with("origin", origin);
    eventually("a gateway that knows the key", || async {
        let limits = of_page(PAGE).get("/v1/limits").await;
        (limits.headers.get("access-control-allow-origin")? == PAGE).then_some(())
    })
    .await;
    let limits = of_page(PAGE).get("/v1/limits").await.ok(200);
    assert_eq!(limits["frontend"], json!({"tool_calls": "full"}));
    let refused = of_page("https://evil.example").get("/v1/limits").await;
    assert!(!refused.headers.contains_key("access-control-allow-origin"));
    assert_eq!(refused.ok(200)["frontend"], Value::Null);
    let limits = fixture.frontend().get("/v1/limits").await.ok(200);
    assert_eq!(limits["frontend"], json!({"tool_calls": "full"}));
    assert!(!list(&limits, "quotas").is_empty());
}
