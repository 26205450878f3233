//! Contexts, forks and exports.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::eventually::eventually;
use wire::proto::read::v1 as proto;

use super::{McpClient, REVISIONS};
use crate::fixture::{Fixture, text};

#[tokio::test(flavor = "multi_thread")]
async fn contexts_forks_and_exports() {
    let fixture = Fixture::new().await;
    for revision in REVISIONS {
        let mcp = McpClient::of_service(&fixture, revision).await;
        let id = mcp.created("ada").await;
        mcp.record(&id, "one", "two").await;
        check_context(&mcp, &id).await;
        check_fork(&mcp, &id).await;
        check_export(&mcp, &id).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_finds_the_callers_conversations() {
    let fixture = Fixture::new().await;
    let mcp = McpClient::of_service(&fixture, REVISIONS[1]).await;
    let id = mcp.created("ada").await;
    mcp.record(&id, "Where is the parcel?", "Behind the oak.").await;
    let found = eventually("a result", || async {
        let found = mcp.ok("search_conversations", json!({"query": "PARCEL"})).await;
        found["results"].get(0).is_some().then_some(found)
    })
    .await;
    let result = &found["results"][0];
    assert_eq!(result["conversation_id"], id.as_str());
    assert_eq!(result["snippet"], "Where is the parcel?");
    assert_eq!((&result["kind"], &found["has_more"]), (&json!("message"), &json!(false)));
    let limited = json!({"query": "the", "limit": 1, "by_relevance": true});
    let limited = mcp.ok("search_conversations", limited).await;
    assert_eq!((limited["results"].as_array().unwrap().len(), &limited["has_more"]), (1, &json!(true)));
    // A user finds their own conversations.
    for (user, count) in [("ada", 1), ("bob", 0)] {
        let mcp = McpClient::new(&fixture.user(user), REVISIONS[0]);
        let found = mcp.ok("search_conversations", json!({"query": "parcel"}));
        assert_eq!(found.await["results"].as_array().unwrap().len(), count, "{user}");
    }
    let (text, code) = mcp.failure("search_conversations", json!({"query": ""})).await;
    assert_eq!(code, "SEARCH_QUERY_INVALID");
    assert!(text.starts_with("Error: query names nothing"), "{text}");
}

async fn check_context(mcp: &McpClient, id: &str) {
    let arguments = json!({"conversation_id": id, "format": "openai-chat"});
    let context = mcp.ok("get_context", arguments).await;
    let body = text(&context, "body");
    let receipt = context["receipt"].to_string();
    let receipt: proto::Receipt = wire::json::read("hansard.read.v1.Receipt", &receipt).unwrap();
    assert_eq!(receipt.body_sha256, Sha256::digest(body).to_vec());
    assert_eq!((&context["version"], &context["policy"]), (&json!(3), &Value::Null));
    let arguments = json!({"conversation_id": id, "format": "anthropic", "budget": 2_000, "messages": 1_000});
    let small = mcp.ok("get_context", arguments).await;
    assert!(small["policy"].is_object(), "{small}");
    for (arguments, beginning) in [
        (json!({"format": "telex"}), "Error: format is not a format"),
        (json!({"format": "ollama", "budget": 1}), "Error: budget "),
        (json!({"format": "ollama", "messages": 1_001}), "Error: messages must be between 1 and 1000"),
        (json!({"format": "ollama", "messages": 0}), "Error: messages must be between 1 and 1000"),
    ] {
        let mut arguments = arguments;
        arguments["conversation_id"] = json!(id);
        let (text, _) = mcp.failure("get_context", arguments).await;
        assert!(text.starts_with(beginning), "{text}");
    }
}

async fn check_fork(mcp: &McpClient, id: &str) {
    let arguments = json!({"conversation_id": id, "version": 2, "title": "other"});
    let fork = mcp.ok("fork_conversation", arguments).await;
    assert_eq!(fork["forked_from"], json!({"conversation_id": id, "version": 2}));
    assert_eq!((&fork["title"], &fork["user_id"]), (&json!("other"), &json!("ada")));
    let fork = text(&fork, "id").to_owned();
    mcp.record(&fork, "three", "four").await;
    let contents = |history: Value| -> Vec<String> {
        let stored = history["messages"].as_array().unwrap().clone();
        let messages = stored.iter();
        messages.map(|one| text(one, "content").to_owned()).collect()
    };
    let history = mcp.ok("fetch_chat_history", json!({"conversation_id": fork}));
    assert_eq!(contents(history.await), ["one", "three", "four"]);
    let history = mcp.ok("fetch_chat_history", json!({"conversation_id": id}));
    assert_eq!(contents(history.await), ["one", "two"]);
    let whole = mcp.ok("fork_conversation", json!({"conversation_id": id}));
    assert_eq!(whole.await["forked_from"]["version"], 3);
    for version in [0, 4] {
        let beyond = json!({"conversation_id": id, "version": version});
        let (text, _) = mcp.failure("fork_conversation", beyond).await;
        let expected = format!("Error: version must be between 1 and 3, and is {version}");
        assert_eq!(text, expected);
    }
}

async fn check_export(mcp: &McpClient, id: &str) {
    let whole = mcp.ok("export_conversation", json!({"conversation_id": id})).await;
    assert_eq!((&whole["version"], &whole["next_version"]), (&json!(3), &Value::Null));
    let types: Vec<&str> = whole["events"].as_array().unwrap().iter().map(|event| text(event, "type")).collect();
    assert_eq!(types, ["ConversationCreated", "MessageAppended", "MessageAppended"]);
    let mut from = json!(1);
    let mut pages = Vec::new();
    while !from.is_null() {
        let arguments = json!({"conversation_id": id, "from_version": from, "limit": 2});
        let page = mcp.ok("export_conversation", arguments).await;
        pages.extend(page["events"].as_array().unwrap().clone());
        from = page["next_version"].clone();
    }
    assert_eq!(json!(pages), whole["events"]);
    for limit in [0, 501] {
        let arguments = json!({"conversation_id": id, "limit": limit});
        let (text, _) = mcp.failure("export_conversation", arguments).await;
        assert!(text.starts_with("Error: limit must be between 1 and 500"), "{text}");
    }
    let most = json!({"conversation_id": id, "limit": 500});
    mcp.ok("export_conversation", most).await;
}
