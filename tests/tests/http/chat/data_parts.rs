//! `data-…` parts: recorded and returned as the page sent them, bounded, and read by no model.

use serde_json::{Value, json};
use tests::model::{Model, Reply};

use crate::chat::ai_sdk::submit;
use crate::fixture::{list, text};
use crate::turns::fixture::TurnFixture;

/// Maximum bytes of a part as JSON.
const DATA_PART_BYTES_MAX: usize = 64 * 1024;

fn user(parts: &Value) -> Value {
    json!({"id": "m1", "role": "user", "parts": parts})
}

/// A part with exactly so many bytes.
fn sized(bytes: usize) -> Value {
    let part = |len: usize| json!({"type": "data-x", "data": "d".repeat(len)});
    let rest = part(0).to_string().len();
    part(bytes - rest)
}

#[tokio::test(flavor = "multi_thread")]
async fn data_parts_are_recorded_and_returned_verbatim() {
    let model = Model::start(|_| Reply::Text("fine".to_owned())).await;
    let fixture = TurnFixture::with_model(&model, Vec::new(), |_| ()).await;
    let client = &fixture.client;
    // Numbers and spaces that a parser would change.
    let data = r#"{"type": "data-cart", "id": "c1", "data": {"sum": 1.10, "big": 1e400, "secret": "s3"}}"#;
    let parts = format!(r#"[{data}, {{"type": "text", "text": "buy"}}, {{"type": "data-note"}}]"#);
    let body = format!(
        r#"{{"id": "chat", "trigger": "submit-message", "messages": [{{"id": "m1", "role": "user", "parts": {parts}}}]}}"#
    );
    let request =
        client.request(reqwest::Method::POST, "/api/chat").header("content-type", "application/json").body(body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 200);
    answer.text().await.unwrap();
    fixture.idle("chat").await;
    // Compared as text, because such a number is no valid JSON value in this test.
    let shown = async |path: &str| {
        let answer = client.get(path).await;
        String::from_utf8(answer.body.to_vec()).unwrap()
    };
    let page = shown("/api/chats/chat").await;
    let expected = format!(r#""parts":[{data},{{"type":"text","text":"buy"}},{{"type": "data-note"}}]"#);
    assert!(page.contains(&expected), "{page}");
    let export = shown("/api/chats/chat/export?format=json").await;
    assert!(export.contains("1e400"), "{export}");
    // The model gets the text alone, also in the next turn.
    let next = json!({"content": "and?"});
    client.post("/api/chats/chat/messages", &next).await;
    fixture.idle("chat").await;
    for request in model.requests() {
        let request = request["messages"].to_string();
        assert!(request.contains("buy") && !request.contains("s3"), "{request}");
    }
    let listed = client.get("/v1/chat/sessions/chat/messages").await;
    // The text form has only texts.
    assert_eq!(text(&list(&listed.ok(200), "messages")[0], "content"), "buy");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_parts_are_bounded() {
    let fixture = TurnFixture::new().await;
    let words = json!({"type": "text", "text": "hello"});
    let check = async |part: Value, expected: (u16, &str, &str)| {
        let id = uuid::Uuid::now_v7().to_string();
        let body = submit(&id, &[user(&json!([words, part]))]);
        let ui = fixture.client.post("/api/chat", &body).await;
        let chat = fixture.chat().await;
        let path = format!("/api/chats/{chat}/messages");
        let parts = json!({"parts": [words, part]});
        let plain = fixture.client.post(&path, &parts).await;
        for (answer, prefix) in [(ui, "messages[0]."), (plain, "")] {
            let (status, code) = answer.status_and_code();
            let field = match status {
                200 => String::new(),
                _ => text(&answer.json(), "field").to_owned(),
            };
            let expected_field = match expected.2 {
                "" => String::new(),
                field => format!("{prefix}{field}"),
            };
            assert_eq!((status, code.as_str(), field), (expected.0, expected.1, expected_field));
        }
    };
    check(sized(DATA_PART_BYTES_MAX), (200, "", "")).await;
    check(sized(DATA_PART_BYTES_MAX + 1), (400, "FIELD_TOO_LONG", "parts[1]")).await;
    let id = |bytes: usize| json!({"type": "data-x", "id": "i".repeat(bytes)});
    check(id(256), (200, "", "")).await;
    check(id(257), (400, "FIELD_TOO_LONG", "parts[1].id")).await;
    check(json!({"type": "data-"}), (400, "FIELD_MALFORMED", "parts[1].type")).await;
    // Models read no data: a message needs a text or a file.
    let alone = submit("alone", &[user(&json!([{"type": "data-x", "data": 1}]))]);
    let refused = fixture.client.post("/api/chat", &alone).await;
    assert_eq!(refused.status_and_code(), (400, "FIELD_MISSING".to_owned()));
}
