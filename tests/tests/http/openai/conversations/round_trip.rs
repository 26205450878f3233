//! Items of every type come back as they were sent.

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::{ALL, PATH, append, back_end, created, items, message, texts};
use crate::fixture::{AGENT, Fixture, list, text};

/// Items as clients send them, and what is different when they come back, except the id of those without one.
fn cases() -> Vec<(Value, Value)> {
    let text = |kind: &str| json!({"type": kind, "text": "é\u{0}"});
    let output =
        json!({"type": "output_text", "text": "é\u{0}", "annotations": [], "logprobs": []});
    vec![
        (
            json!({"role": "user", "content": "é\u{0}"}),
            json!({"type": "message", "status": "completed", "content": [text("input_text")]}),
        ),
        (
            json!({"type": "message", "role": "assistant", "content": "é\u{0}", "phase": "commentary"}),
            json!({"status": "completed", "content": [output]}),
        ),
        (
            json!({"type": "message", "id": "msg_own", "role": "assistant", "status": "incomplete", "more": {"a": [1.0, null]}, "content": [
                {"type": "output_text", "text": "a", "annotations": [{"type": "url_citation", "start_index": 0, "end_index": 1, "title": "t", "url": "https://h"}],
                 "logprobs": [{"token": "a", "bytes": [97], "logprob": -0.5, "top_logprobs": []}]},
                {"type": "output_text", "text": "b", "annotations": [], "logprobs": []},
                {"type": "refusal", "refusal": "no"},
                {"type": "reasoning_text", "text": "hm"}
            ]}),
            json!({}),
        ),
        (
            json!({"type": "message", "role": "system", "content": [text("input_text")]}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "message", "role": "developer", "content": "", "status": null}),
            json!({"status": "completed", "content": []}),
        ),
        (
            json!({"type": "message", "role": "tool", "content": "x"}),
            json!({"status": "completed", "content": [{"type": "input_text", "text": "x"}]}),
        ),
        (
            json!({"type": "message", "role": "user", "status": "completed", "content": [
                {"type": "input_text", "text": ""},
                {"type": "text", "text": "t"},
                {"type": "input_image", "image_url": "https://h/i.png", "file_id": null, "detail": "high"},
                {"type": "input_image", "file_id": "file_1", "detail": "auto"},
                {"type": "input_file", "file_data": "AAAA", "filename": "a.pdf"},
                {"type": "input_file", "file_url": "https://h/a.pdf"},
                {"type": "input_audio", "input_audio": {"data": "AA", "format": "mp3"}}
            ]}),
            json!({}),
        ),
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "e"}),
            json!({}),
        ),
        (
            json!({"type": "function_call", "call_id": "a", "name": "look", "arguments": "{\"q\": 1.0}"}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "function_call", "call_id": "b", "name": "look", "arguments": "{bad", "async": true, "status": "incomplete", "namespace": "n"}),
            json!({}),
        ),
        (
            json!({"type": "function_call_output", "call_id": "a", "output": "{\"n\": 1e400}"}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "function_call_output", "call_id": "b", "output": [
                {"type": "input_text", "text": "one", "more": 1},
                {"type": "input_image", "image_url": "https://h/i.png", "detail": "low"}
            ]}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "function_call_output", "call_id": "none", "output": "orphan"}),
            json!({"status": "completed"}),
        ),
        (
            json!({"type": "custom_tool_call", "call_id": "c", "name": "n", "input": "i"}),
            json!({}),
        ),
        (
            json!({"type": "custom_tool_call_output", "call_id": "c", "output": "o"}),
            json!({}),
        ),
        (
            json!({"type": "mcp_call", "id": "mcp_1", "arguments": "{}", "name": "n", "server_label": "s", "output": null}),
            json!({}),
        ),
        (
            json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}),
            json!({}),
        ),
        (
            json!({"type": "compaction", "encrypted_content": "e"}),
            json!({}),
        ),
        (
            json!({"type": "never_seen", "a": {"b": [1, 2.50, "x"]}}),
            json!({}),
        ),
    ]
}

/// An item with these differences.
fn with(mut item: Value, different: &Value) -> Value {
    for (name, value) in different.as_object().unwrap() {
        item[name] = value.clone();
    }
    item
}

#[tokio::test(flavor = "multi_thread")]
async fn items_of_every_type_come_back_as_they_were_sent() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await;
    let path = created(&client, json!([])).await;
    let sent: Vec<Value> = cases().into_iter().map(|(sent, _)| sent).collect();
    let made = append(&client, &path, json!(sent)).await;
    let listed = items(&client, &path).await;
    assert_eq!(list(&made, "data"), listed);
    assert_eq!(
        (&made["has_more"], &made["object"]),
        (&json!(false), &json!("list"))
    );
    assert_eq!(
        (&made["first_id"], &made["last_id"]),
        (&listed[0]["id"], &listed[listed.len() - 1]["id"])
    );
    for ((sent, different), listed) in cases().into_iter().zip(&listed) {
        let id = text(listed, "id");
        let own = sent["id"].as_str();
        assert!(own.is_none_or(|own| own == id), "{id}");
        let expected = with(with(sent, &different), &json!({"id": id}));
        assert_eq!(*listed, expected);
        let one = client.get(&format!("{path}/items/{id}")).await.ok(200);
        assert_eq!(one, expected);
    }
    let prefixes = listed
        .iter()
        .map(|item| text(item, "id").split('_').next().unwrap());
    let prefixes: Vec<&str> = prefixes.collect();
    assert_eq!(
        prefixes,
        [
            "msg", "msg", "msg", "msg", "msg", "msg", "msg", "rs", "fc", "fc", "fco", "fco", "fco",
            "ctc", "ctco", "mcp", "ws", "cmp", "item"
        ]
    );
    pages(&client, &path, &listed).await;
    references(&client, &path, &listed).await;
}

/// Pages in both directions contain every item once, also after an id that the client chose.
async fn pages(client: &HttpClient, path: &str, all: &[Value]) {
    let mut newest_first = all.to_vec();
    newest_first.reverse();
    for (query, expected) in [
        ("order=asc", all),
        ("order=desc", &newest_first[..]),
        ("include=x&include[]=y", &newest_first[..]),
    ] {
        for limit in [1, 7, 100] {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let page = client
                    .get(&format!("{path}/items?{query}&limit={limit}{after}"))
                    .await
                    .ok(200);
                found.extend(list(&page, "data").iter().cloned());
                if page["has_more"] == false {
                    break;
                }
                assert_eq!(list(&page, "data").len(), limit);
                after = format!("&after={}", text(&page, "last_id"));
            }
            assert_eq!(found, expected, "{query} {limit}");
        }
    }
    let page = client.get(&format!("{path}/items")).await.ok(200);
    assert_eq!(
        list(&page, "data"),
        &newest_first[..newest_first.len().min(20)]
    );
}

/// A reference appends a copy; a call that is open already is kept.
async fn references(client: &HttpClient, path: &str, all: &[Value]) {
    for index in [0, 2, 7, 8] {
        let reference = json!([{"type": "item_reference", "id": all[index]["id"]}]);
        let copied = append(client, path, reference).await;
        let mut copy = list(&copied, "data")[0].clone();
        if all[index]["id"].as_str().unwrap().len() > 20 {
            assert_ne!(copy["id"], all[index]["id"]);
            copy["id"] = all[index]["id"].clone();
        }
        assert_eq!(copy, all[index]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_is_the_same_in_every_api() {
    let fixture = Fixture::new().await;
    let client = back_end(&fixture, &ALL).await;
    // An OpenAI conversation, in Hansard's own APIs.
    let ada = client.with("x-hansard-user", "ada");
    let body = json!({"metadata": {"topic": "boxes"}, "items": [
        message("What is in the box?"),
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "a cat"},
        {"type": "function_call_output", "call_id": "c", "output": "again"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A cat.", "annotations": []}]}
    ]});
    let made = ada.post(PATH, &body).await.ok(200);
    let id = text(&made, "id");
    assert!(id.starts_with("conv_"), "{id}");
    assert_eq!(
        (&made["object"], &made["metadata"]),
        (&json!("conversation"), &json!({"topic": "boxes"}))
    );
    assert_eq!(client.get(&format!("{PATH}/{id}")).await.ok(200), made);
    let page = client
        .get(&format!("/v1/conversations/{id}/events?from=2"))
        .await
        .ok(200);
    let kinds: Vec<&str> = list(&page, "events")
        .iter()
        .map(|event| text(event, "type"))
        .collect();
    let message_kind = "MessageAppended";
    assert_eq!(
        kinds,
        [
            message_kind,
            message_kind,
            "ToolCalled",
            "ToolReturned",
            message_kind,
            message_kind
        ]
    );
    let context = client
        .get(&format!(
            "/v1/conversations/{id}/context?format=openai-responses"
        ))
        .await
        .ok(200);
    let input: Vec<&str> = list(&context["body"], "input")
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        input,
        [
            "message",
            "reasoning",
            "function_call",
            "function_call_output",
            "message"
        ]
    );
    let chat = fixture
        .user("ada")
        .get(&format!("/api/chats/{id}"))
        .await
        .ok(200);
    assert_eq!(chat["id"], id);
    // Metadata is replaced.
    let changed = client
        .post(&format!("{PATH}/{id}"), &json!({"metadata": {"a": "b"}}))
        .await
        .ok(200);
    assert_eq!(
        (&changed["metadata"], &changed["created_at"]),
        (&json!({"a": "b"}), &made["created_at"])
    );
    // A conversation of another API.
    let own = json!({"agentId": AGENT, "userId": "ada", "metadata": {"n": 1}});
    let own = client.post("/v1/conversations", &own).await.ok(201);
    let own_id = text(&own, "conversationId");
    let own = format!("{PATH}/{own_id}");
    assert_eq!(client.get(&own).await.ok(200)["metadata"], json!({"n": 1}));
    let events = json!({"events": [
        {"type": "MessageAppended", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
        {"type": "SystemNoted", "text": "n"},
        {"type": "MessageAppended", "role": "assistant", "parts": [
            {"type": "thinking", "text": "hm", "signature": "s"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}
        ], "metadata": {"openai_item": 5}}
    ]});
    client
        .post(&format!("/v1/conversations/{own_id}/events"), &events)
        .await
        .ok(200);
    let listed = items(&client, &own).await;
    let types: Vec<&str> = listed.iter().map(|item| text(item, "type")).collect();
    assert_eq!(types, ["message", "reasoning", "message"]);
    assert_eq!(listed[1]["summary"][0]["text"], "hm");
    assert_eq!(listed[2]["content"][1]["text"], "b");
    append(&client, &own, json!([message("more")])).await;
    assert_eq!(texts(&client, &own).await, ["hi", "a", "more"]);
}
