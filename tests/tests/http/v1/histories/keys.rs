//! Keys in URLs, at their bounds: each is one history, the same over gRPC.

use std::collections::BTreeSet;

use serde_json::json;
use wire::proto::history::v1 as history;

use super::{bot, load, messages, path, record, short};
use crate::fixture::{Fixture, text};

#[tokio::test(flavor = "multi_thread")]
async fn every_key_is_one_history_over_http_and_grpc() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let mut seen = BTreeSet::new();
    for key in [
        "telegram:42",
        "telegram:-100200",
        "a/b",
        "a/b/messages",
        "/",
        "a+b=c@d.e_f",
        "用户:7",
        "é",
        "load",
        &"x".repeat(256),
        &"用".repeat(256),
        &"/".repeat(256),
    ] {
        let recorded = record(&bot, key, &["u hello"]).await;
        assert_eq!((&recorded["appendedCount"], &recorded["key"]), (&json!(1), &json!(key)));
        let loaded = load(&bot, key).await;
        assert_eq!(short(&loaded), ["u hello"], "{key}");
        let request = history::LoadHistoryRequest {
            key: Some(history::HistoryKey {
                agent_id: fixture.agent_id.to_owned(),
                history_key_candidates: vec![key.to_owned()],
                ..history::HistoryKey::default()
            }),
            ..history::LoadHistoryRequest::default()
        };
        let rpc = fixture.agent.caller().history().load_history(request).await.expect(key).into_inner();
        assert_eq!(loaded["conversationId"], rpc.conversation_id, "{key}");
        assert_eq!(loaded["channelId"], rpc.channel_id, "{key}");
        assert_eq!((loaded["version"].as_u64(), rpc.version), (Some(2), 2));
        assert!(seen.insert(rpc.conversation_id), "{key} has a history of its own");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_keys_are_rejected() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let (missing, malformed, too_long) = ("FIELD_MISSING", "FIELD_MALFORMED", "FIELD_TOO_LONG");
    for (key, code) in [
        (path(" "), missing),
        (path("a b"), malformed),
        (path("a\0b"), malformed),
        (path("a\u{202e}b"), malformed),
        (path("{{chat_id}}"), malformed),
        (path("a*"), malformed),
        ("/v1/histories/%FF".to_owned(), malformed),
        (path(&"x".repeat(257)), too_long),
        (path(&"用".repeat(257)), too_long),
        (path(&"x".repeat(2_000)), too_long),
    ] {
        for (suffix, body) in [("", None), ("/load", Some(messages(&[]))), ("/messages", Some(messages(&["u hello"])))]
        {
            let method = if body.is_some() { "POST" } else { "GET" };
            let at = format!("{key}{suffix}");
            let refused = bot.send(method, &at, body.as_ref()).await;
            assert_eq!(refused.status_and_code(), (400, code.to_owned()), "{key}{suffix}");
            assert_eq!(text(&refused.json(), "field"), "key", "{key}{suffix}");
        }
    }
    assert_eq!(bot.get("/v1/histories/").await.status, 404);
    assert_eq!(bot.get("/v1/histories/a/b").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_separate_histories_of_a_key() {
    let fixture = Fixture::new().await;
    let bot = bot(&fixture).await;
    let at = |namespace: &str| format!("{}?namespace={namespace}", path("room"));
    record(&bot, "room", &["u one"]).await;
    let other = format!("{}/messages?namespace=b", path("room"));
    bot.post(&other, &messages(&["u two"])).await.ok(200);
    for (namespace, expected) in [("", "u one"), ("default", "u one"), ("b", "u two")] {
        let loaded = bot.get(&at(namespace)).await.ok(200);
        assert_eq!(short(&loaded), [expected], "{namespace}");
    }
    let longest = bot.get(&at(&"n".repeat(64))).await.ok(200);
    assert_eq!(longest["version"], 0);
    for (namespace, code) in [("n".repeat(65), "FIELD_TOO_LONG"), ("a:b".to_owned(), "FIELD_MALFORMED")] {
        let refused = bot.get(&at(&namespace)).await;
        assert_eq!(refused.status_and_code(), (400, code.to_owned()));
        assert_eq!(text(&refused.json(), "field"), "namespace");
    }
}
