//! The five tools of the contract: their defaults, results and bounds.

use serde_json::{Value, json};

use super::{McpClient, REVISIONS};
use crate::fixture::{Fixture, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_request_cycle_reads_what_it_records() {
    let fixture = Fixture::new().await;
    for revision in REVISIONS {
        let mcp = McpClient::of_service(&fixture, revision).await;
        let user = format!("ada-{revision}");
        let arguments = json!({"user_id": user, "title": "Authentication"});
        let created = mcp.ok("create_conversation", arguments).await;
        assert_eq!(created["user_id"], user);
        assert_eq!(created["title"], "Authentication");
        assert_eq!(created["created_at"], created["updated_at"]);
        assert!(text(&created, "created_at").ends_with("+00:00"), "{created}");
        let id = text(&created, "id");
        let metadata = r#"{"model": "small", "tokens": 150}"#;
        let recorded = mcp
            .ok(
                "record_interaction",
                json!({
                    "conversation_id": id,
                    "user_message": "What about OAuth?",
                    "assistant_response": "OAuth 2.0 is a framework.",
                    "metadata": metadata,
                }),
            )
            .await;
        check_recorded(&recorded, id, metadata);
        let history = mcp.ok("fetch_chat_history", json!({"conversation_id": id})).await;
        let messages = json!([recorded["user_message"], recorded["assistant_message"]]);
        assert_eq!(history["messages"], messages);
        assert_eq!(history["message_count"], 2);
        assert_eq!(history["conversation_id"], id);
        assert_eq!(history["title"], "Authentication");
        assert_eq!(history["created_at"], created["created_at"]);
        assert_eq!(history["updated_at"], recorded["recorded_at"]);
        let header = mcp.ok("get_conversation", json!({"conversation_id": id})).await;
        assert_eq!(header["updated_at"], recorded["recorded_at"]);
        assert_eq!(header.get("messages"), None);
        let listed = mcp.ok("list_conversations", json!({"user_id": user}));
        assert_eq!(listed.await, json!([header]));
    }
}

fn check_recorded(recorded: &Value, id: &str, metadata: &str) {
    for (member, role, content) in
        [("user_message", "user", "What about OAuth?"), ("assistant_message", "assistant", "OAuth 2.0 is a framework.")]
    {
        let message = &recorded[member];
        assert_eq!((&message["role"], &message["content"]), (&json!(role), &json!(content)));
        assert_eq!(message["metadata"], metadata);
        assert_eq!(message["conversation_id"], id);
        assert_eq!(message["created_at"], recorded["recorded_at"]);
    }
    assert_ne!(recorded["user_message"]["id"], recorded["assistant_message"]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_have_defaults_and_bounds() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let id = mcp.created("ada").await;
    for number in 0..51 {
        mcp.record(&id, &format!("question {number}"), &format!("answer {number}")).await;
    }
    let contents = |history: &Value| -> Vec<String> {
        let messages = history["messages"].as_array().unwrap().iter();
        messages.map(|one| text(one, "content").to_owned()).collect()
    };
    let fetch = |limit: Value| json!({"conversation_id": id, "limit": limit});
    let ten = contents(&mcp.ok("fetch_chat_history", json!({"conversation_id": id})).await);
    assert_eq!((ten.len(), ten[9].as_str()), (10, "answer 50"));
    assert_eq!(ten[0], "question 46");
    for (limit, expected) in [(json!(1), 1), (json!(100), 100), (Value::Null, 10)] {
        let history = mcp.ok("fetch_chat_history", fetch(limit)).await;
        assert_eq!(history["message_count"], expected);
        assert_eq!(contents(&history).last().unwrap(), "answer 50");
    }
    for number in 0..100 {
        mcp.created("bob").await;
        if number == 20 {
            let listed = mcp.ok("list_conversations", json!({"user_id": "bob"})).await;
            assert_eq!(listed.as_array().unwrap().len(), 20);
        }
    }
    let newest = mcp.created("bob").await;
    for (limit, expected) in [(1, 1), (100, 100)] {
        let arguments = json!({"user_id": "bob", "limit": limit});
        let listed = mcp.ok("list_conversations", arguments).await;
        assert_eq!(listed.as_array().unwrap().len(), expected);
        assert_eq!(listed[0]["id"], newest.as_str());
    }
    for (tool, arguments) in
        [("fetch_chat_history", json!({"conversation_id": id})), ("list_conversations", json!({"user_id": "bob"}))]
    {
        for limit in [-1, 0, 101] {
            let mut arguments = arguments.clone();
            arguments["limit"] = json!(limit);
            let (text, code) = mcp.failure(tool, arguments).await;
            let expected = format!("Error: limit must be between 1 and 100, and is {limit}");
            assert_eq!((text, code.as_str()), (expected, "FIELD_OUT_OF_RANGE"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_name_the_argument_and_record_nothing() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[0]).await;
    let id = mcp.created("ada").await;
    check_interactions(&mcp, &id).await;
    let create = "create_conversation";
    for (tool, arguments, code, beginning) in [
        (create, json!({}), "FIELD_MISSING", "user_id is missing"),
        (create, json!({"user_id": ""}), "FIELD_MISSING", "user_id "),
        (create, json!({"user_id": "u".repeat(257)}), "FIELD_TOO_LONG", "user_id "),
        (create, json!({"user_id": "u", "title": "t".repeat(1_025)}), "FIELD_TOO_LONG", "title "),
        ("get_conversation", json!({"id": id}), "FIELD_UNKNOWN", "id is unknown"),
        ("fetch_chat_history", json!({"limit": "ten"}), "FIELD_MALFORMED", "limit must be "),
        ("record_interaction", json!({"conversation_id": id}), "FIELD_MISSING", "user_message "),
    ] {
        check_failure(&mcp, tool, arguments, (code, beginning)).await;
    }
    let history = mcp.ok("fetch_chat_history", json!({"conversation_id": id}));
    assert_eq!(history.await["message_count"], 0);
    let longest = json!({"user_id": "u".repeat(256), "title": "t".repeat(1_024)});
    mcp.ok(create, longest).await;
    check_sizes(&mcp, &id).await;
}

async fn check_interactions(mcp: &McpClient, id: &str) {
    let large = "x".repeat(512 * 1024);
    for (user, assistant, metadata, code, beginning) in [
        ("", "a", Value::Null, "FIELD_MISSING", "user_message is empty"),
        ("q", "", Value::Null, "FIELD_MISSING", "assistant_response is empty"),
        ("q", "a", json!("[1]"), "INVALID_JSON", "metadata "),
        ("q", "a", json!("{"), "INVALID_JSON", "metadata "),
        ("q", "a", json!({}), "FIELD_MALFORMED", "metadata must be "),
        (&large, "a", Value::Null, "EVENT_TOO_LARGE", ""),
    ] {
        let arguments = json!({
            "conversation_id": id, "user_message": user, "assistant_response": assistant,
            "metadata": metadata,
        });
        check_failure(mcp, "record_interaction", arguments, (code, beginning)).await;
    }
}

/// A call fails with a code, and a text with this beginning.
async fn check_failure(mcp: &McpClient, tool: &str, arguments: Value, expected: (&str, &str)) {
    let (text, code) = mcp.failure(tool, arguments).await;
    assert_eq!(code, expected.0, "{tool}: {text}");
    let text = text.strip_prefix("Error: ").unwrap();
    assert!(text.starts_with(expected.1), "{tool}: {text}");
}

/// Of ten messages of almost 512 KiB, a history of 4 MiB has eight, and a page of 1 MiB two.
async fn check_sizes(mcp: &McpClient, id: &str) {
    let largest = "x".repeat(512 * 1024 - 1_024);
    for _ in 0..5 {
        mcp.record(id, &largest, &largest).await;
    }
    let arguments = json!({"conversation_id": id, "limit": 100});
    let history = mcp.ok("fetch_chat_history", arguments).await;
    assert_eq!(history["message_count"], 8);
    let arguments = json!({"conversation_id": id, "limit": 500});
    let page = mcp.ok("export_conversation", arguments).await;
    assert_eq!(page["events"].as_array().unwrap().len(), 3);
    assert_eq!(page["next_version"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_interaction_is_recorded_once() {
    let fixture = Fixture::new().await;
    for revision in REVISIONS {
        let mcp = McpClient::of_service(&fixture, revision).await;
        let id = mcp.created("ada").await;
        let arguments = |answer: &str, key: Value| {
            json!({
                "conversation_id": id, "user_message": "q", "assistant_response": answer,
                "metadata": "{}", "idempotency_key": key,
            })
        };
        let tool = "record_interaction";
        let key = json!(uuid::Uuid::now_v7().to_string());
        let first = mcp.ok(tool, arguments("a", key.clone())).await;
        // Another interaction between the attempts changes nothing.
        mcp.record(&id, "q2", "a2").await;
        let again = mcp.ok(tool, arguments("a", key.clone())).await;
        assert_eq!(first, again);
        let (text, code) = mcp.failure(tool, arguments("other", key)).await;
        assert_eq!(code, "IDEMPOTENCY_KEY_REUSED", "{text}");
        for key in [json!("mine"), json!("0")] {
            let (text, code) = mcp.failure(tool, arguments("a", key)).await;
            assert_eq!(code, "IDEMPOTENCY_KEY_MALFORMED");
            assert!(text.starts_with("Error: idempotency_key is not a UUID"), "{text}");
        }
        let history = mcp.ok("fetch_chat_history", json!({"conversation_id": id})).await;
        assert_eq!(history["message_count"], 4);
        // Without a key, a repeated call is another interaction.
        for _ in 0..2 {
            mcp.ok(tool, arguments("b", Value::Null)).await;
        }
        let history = mcp.ok("fetch_chat_history", json!({"conversation_id": id})).await;
        assert_eq!(history["message_count"], 8);
    }
}
