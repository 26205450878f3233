//! Items of every type come back as they were sent.

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::item_cases::cases;
use super::{ALL, PATH, append, back_end, created, items, message, texts};
use crate::fixture::{Fixture, list, text};

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
    assert_eq!((&made["has_more"], &made["object"]), (&json!(false), &json!("list")));
    assert_eq!((&made["first_id"], &made["last_id"]), (&listed[0]["id"], &listed[listed.len() - 1]["id"]));
    for ((sent, different), listed) in cases().into_iter().zip(&listed) {
        let id = text(listed, "id");
        let own = sent["id"].as_str();
        assert!(own.is_none_or(|own| own == id), "{id}");
        let expected = with(with(sent, &different), &json!({"id": id}));
        assert_eq!(*listed, expected);
        let one = client.get(&format!("{path}/items/{id}")).await.ok(200);
        assert_eq!(one, expected);
    }
    let prefixes: Vec<&str> = listed.iter().map(|item| text(item, "id").split('_').next().unwrap()).collect();
    assert_eq!(
        prefixes,
        [
            "msg", "msg", "msg", "msg", "msg", "msg", "msg", "rs", "fc", "fc", "fco", "fco", "fco", "ctc", "ctco",
            "mcp", "ws", "cmp", "item", "item", "item"
        ]
    );
    pages(&client, &path, &listed).await;
    references(&client, &path, &listed).await;
}

/// Pages in both directions contain every item once, also after an id that the client chose.
async fn pages(client: &HttpClient, path: &str, all: &[Value]) {
    let mut newest_first = all.to_vec();
    newest_first.reverse();
    for (query, expected) in
        [("order=asc", all), ("order=desc", &newest_first[..]), ("include=x&include[]=y", &newest_first[..])]
    {
        for limit in [1, 7, 100] {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let page = client.get(&format!("{path}/items?{query}&limit={limit}{after}")).await.ok(200);
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
    assert_eq!(list(&page, "data"), &newest_first[..newest_first.len().min(20)]);
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
    let ada = client.with("x-hansard-user", "ada");
    let body = json!({"metadata": {"topic": "boxes"}, "items": [
        message("What is in the box?"),
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "a cat"},
        {"type": "function_call_output", "call_id": "c", "output": "again"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "f"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A cat.", "annotations": []}]}
    ]});
    let made = ada.post(PATH, &body).await.ok(200);
    let id = text(&made, "id");
    assert!(id.starts_with("conv_"), "{id}");
    assert_eq!((&made["object"], &made["metadata"]), (&json!("conversation"), &json!({"topic": "boxes"})));
    assert_eq!(client.get(&format!("{PATH}/{id}")).await.ok(200), made);
    in_own_apis(&fixture, &client, id).await;
    let changed = client.post(&format!("{PATH}/{id}"), &json!({"metadata": {"a": "b"}})).await.ok(200);
    assert_eq!((&changed["metadata"], &changed["created_at"]), (&json!({"a": "b"}), &made["created_at"]));
    of_another_api(&fixture, &ada).await;
}

/// A conversation of another API is read and continued for its owner.
async fn of_another_api(fixture: &Fixture, client: &HttpClient) {
    let own = json!({"agentId": fixture.agent_id, "userId": "ada", "metadata": {"n": 1}});
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
    client.post(&format!("/v1/conversations/{own_id}/events"), &events).await.ok(200);
    let listed = items(client, &own).await;
    let types: Vec<&str> = listed.iter().map(|item| text(item, "type")).collect();
    assert_eq!(types, ["message", "reasoning", "message"]);
    assert_eq!(listed[1]["summary"][0]["text"], "hm");
    assert_eq!(listed[2]["content"][1]["text"], "b");
    append(client, &own, json!([message("more")])).await;
    assert_eq!(texts(client, &own).await, ["hi", "a", "more"]);
}

/// An OpenAI conversation of a user, in Hansard's own APIs.
async fn in_own_apis(fixture: &Fixture, client: &HttpClient, id: &str) {
    let page = client.get(&format!("/v1/conversations/{id}/events?from=2")).await.ok(200);
    let kinds: Vec<&str> = list(&page, "events").iter().map(|event| text(event, "type")).collect();
    let message_kind = "MessageAppended";
    assert_eq!(
        kinds,
        [message_kind, message_kind, "ToolCalled", "ToolReturned", message_kind, message_kind, message_kind]
    );
    let context = client.get(&format!("/v1/conversations/{id}/context?format=openai-responses")).await.ok(200);
    let input: Vec<&str> = list(&context["body"], "input").iter().map(|item| item["type"].as_str().unwrap()).collect();
    assert_eq!(input, ["message", "reasoning", "function_call", "function_call_output", "reasoning", "message"]);
    let chat = fixture.user("ada").get(&format!("/api/chats/{id}")).await.ok(200);
    assert_eq!(chat["id"], id);
}
