//! Messages of a body: their forms, their bounds, and the names of what breaks them.

use serde_json::{Value, json};

use super::{bot, load, messages, path, short};
use crate::fixture::{Fixture, list};

/// Most bytes of a body.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// What a load returns can be recorded under another key, and is the same.
#[tokio::test(flavor = "multi_thread")]
async fn messages_round_trip() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let body = json!({"messages": [
        {"role": "user", "author": "Ada", "parts": [
            {"type": "text", "text": "What is this?"},
            {"type": "image", "url": "https://h/i.png", "mediaType": "image/png"},
        ]},
        {"role": "assistant", "parts": [{"type": "text", "text": "A cat."}], "model": "m", "provider": "openai",
         "providerResponseId": "r", "finishReason": "stop",
         "usage": {"inputTokens": 7, "outputTokens": 2, "cachedTokens": 0, "reasoningTokens": 1}},
    ]});
    let to = |key: &str| format!("{}/messages", path(key));
    bot.post(&to("one"), &body).await.ok(200);
    let loaded = load(&bot, "one").await;
    assert_eq!(loaded["messages"], body["messages"]);
    let copy = json!({"messages": loaded["messages"]});
    bot.post(&to("two"), &copy).await.ok(200);
    assert_eq!(load(&bot, "two").await["messages"], body["messages"]);
    let again = bot.post(&to("one"), &copy).await.ok(200);
    assert_eq!(again["appendedCount"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_has_at_most_1000_messages() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let texts: Vec<String> = (0..1_001).map(|number| format!("u {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let to = format!("{}/messages", path("room"));
    let over = bot.post(&to, &messages(&texts)).await;
    assert_eq!(
        (over.status_and_code(), over.json()["field"].clone()),
        ((400, "FIELD_OUT_OF_RANGE".to_owned()), json!("messages"))
    );
    assert_eq!(load(&bot, "room").await["version"], 0);
    let most = bot.post(&to, &messages(&texts[1..])).await.ok(200);
    assert_eq!(most["appendedCount"], 1_000);
    let whole = bot.get(&format!("{}?limit=1000", path("room"))).await.ok(200);
    assert_eq!(short(&whole), texts[1..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_at_most_four_mebibytes() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let body = |bytes: usize| {
        let long = vec!["u ".to_owned() + &"x".repeat(460_000); 9];
        let texts: Vec<&str> = long.iter().map(String::as_str).collect();
        let mut body = messages(&texts);
        let rest = bytes - body.to_string().len();
        body["messages"][0]["content"] = json!("x".repeat(460_000 + rest));
        body
    };
    for suffix in ["load", "messages"] {
        let to = format!("{}/{suffix}", path("room"));
        assert_eq!(bot.post(&to, &body(BYTES_MAX)).await.status, 200, "{to}");
        let over = bot.post(&to, &body(BYTES_MAX + 1)).await;
        assert_eq!(over.status, 413, "{to}");
    }
}

/// A body whose second message is this one.
fn second(message: &Value) -> Value {
    json!({"messages": [{"role": "user", "content": "x"}, message]})
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_the_member() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let text = json!({"type": "text", "text": "x"});
    for (body, code, field) in [
        (json!({}), "FIELD_MISSING", "messages"),
        (json!({"messages": [], "more": 1}), "FIELD_UNKNOWN", "more"),
        (second(&json!({"content": "x"})), "FIELD_MISSING", "messages[1].role"),
        (second(&json!({"role": "user", "content": ""})), "FIELD_MISSING", "messages[1].parts[0].text"),
        (second(&json!({"role": "user", "content": "x", "parts": [text]})), "FIELD_MALFORMED", "messages[1].parts"),
        (second(&json!({"role": "user", "parts": [{"type": "image"}]})), "FIELD_MISSING", "messages[1].parts[0].url"),
        (
            second(&json!({"role": "user", "content": "x", "providerResponseId": "r".repeat(257)})),
            "FIELD_TOO_LONG",
            "messages[1].providerResponseId",
        ),
        (second(&json!({"role": "user", "content": "x".repeat(512 * 1024)})), "EVENT_TOO_LARGE", "messages[1]"),
    ] {
        for suffix in ["load", "messages"] {
            let refused = bot.post(&format!("{}/{suffix}", path("room")), &body).await;
            let problem = refused.json();
            assert_eq!(
                (refused.status_and_code(), &problem["field"]),
                ((400, code.to_owned()), &json!(field)),
                "{problem}"
            );
        }
    }
    let history = load(&bot, "room").await;
    assert!(list(&history, "messages").is_empty(), "nothing is recorded");
}
