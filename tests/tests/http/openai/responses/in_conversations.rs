//! Responses in conversations that the request names.

use std::time::Duration;

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use tests::model::{Model, Reply};

use super::{CONVERSATIONS, PATH, create, error, id, last_sent, pairs, setup, text};

async fn conversation(client: &HttpClient) -> String {
    let conversation = client.post(CONVERSATIONS, &json!({})).await.ok(200);
    id(&conversation).to_owned()
}

/// The ids of the items of a conversation, oldest first, with their texts.
async fn items(client: &HttpClient, conversation: &str) -> Vec<(String, String)> {
    let path = format!("{CONVERSATIONS}/{conversation}/items?order=asc&limit=100");
    let list = client.get(&path).await.ok(200);
    let items = list["data"].as_array().unwrap().iter().map(|item| {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        (id(item).to_owned(), text.to_owned())
    });
    items.collect()
}

fn texts(items: &[(String, String)]) -> Vec<&str> {
    items.iter().map(|(_, text)| text.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn input_and_output_are_items() {
    let model = Model::start(|before| Reply::Text(format!("answer {before}"))).await;
    let (_stack, client) = setup(&model).await;
    let conversation = conversation(&client).await;
    let more = json!({"input": "one", "conversation": conversation});
    let first = create(&client, more).await.ok(200);
    assert_eq!(first["conversation"], json!({"id": conversation}));
    let more = json!({"input": "two", "conversation": {"id": conversation}});
    let second = create(&client, more).await.ok(200);
    let chain = [("user", "one"), ("assistant", "answer 0"), ("user", "two")];
    assert_eq!(last_sent(&model), pairs(&chain));
    let items = items(&client, &conversation).await;
    assert_eq!(texts(&items), ["one", "answer 0", "two", "answer 1"]);
    assert_eq!(items[1].0, first["output"][0]["id"].as_str().unwrap());
    assert_eq!(items[3].0, second["output"][0]["id"].as_str().unwrap());
    let path = format!("{CONVERSATIONS}/{conversation}/items/{}", items[3].0);
    assert_eq!(client.get(&path).await.ok(200), second["output"][0]);
    // A response of a conversation is continued in a fork: the conversation has only its own items.
    let more = json!({"input": "three", "previous_response_id": id(&second)});
    create(&client, more).await.ok(200);
    assert_eq!(self::items(&client, &conversation).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn short_pages_contain_every_item_once() {
    let model = Model::start(|before| match before {
        0 | 1 => Reply::Call("call_1", "look"),
        _ => Reply::Text("Stars.".to_owned()),
    })
    .await;
    let (_stack, client) = setup(&model).await;
    let conversation = conversation(&client).await;
    let tools = json!([{"type": "function", "name": "look"}]);
    let output = json!({"type": "function_call_output", "call_id": "call_1", "output": "sky"});
    // The model's messages that only call are no items.
    for input in [json!("Where?"), json!([output]), json!([output])] {
        let more = json!({"input": input, "tools": tools, "conversation": conversation});
        create(&client, more).await.ok(200);
    }
    let mut expected = items(&client, &conversation).await;
    assert_eq!(expected.len(), 6);
    for order in ["asc", "desc"] {
        let (mut found, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("{CONVERSATIONS}/{conversation}/items?limit=1&order={order}{after}");
            let page = client.get(&path).await.ok(200);
            let item = &page["data"][0];
            assert!(item.is_object(), "{order}: {page}");
            found.push(id(item).to_owned());
            after = format!("&after={}", id(item));
            if page["has_more"] == false {
                break;
            }
        }
        let ids: Vec<&str> = expected.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(found, ids, "{order}");
        expected.reverse();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_gets_the_first_response() {
    let model = Model::start(|before| Reply::Text(format!("answer {before}"))).await;
    let (_stack, client) = setup(&model).await;
    let conversation = conversation(&client).await;
    let body = json!({"input": "one", "conversation": conversation});
    let first = create(&client, body.clone()).await.ok(200);
    let retry = client.with("x-stainless-retry-count", "1");
    assert_eq!(create(&retry, body.clone()).await.ok(200), first);
    let chained = json!({"input": "two", "previous_response_id": id(&first)});
    let branch = create(&client, chained.clone()).await.ok(200);
    let body = json!({"input": "three", "previous_response_id": id(&branch)});
    let next = create(&client, body.clone()).await.ok(200);
    assert_eq!(create(&retry, body).await.ok(200), next);
    // Without the header it is another request.
    let again = json!({"input": "one", "conversation": conversation});
    assert_ne!(create(&client, again).await.ok(200)["id"], first["id"]);
    assert_eq!(items(&client, &conversation).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_with_a_run_is_locked() {
    let model = Model::start(|_| Reply::Late(Duration::from_mins(1), "late".to_owned())).await;
    let (_stack, client) = setup(&model).await;
    let conversation = conversation(&client).await;
    let more = json!({"input": "one", "conversation": conversation, "background": true});
    let running = create(&client, more).await.ok(200);
    let more = json!({"input": "two", "conversation": conversation});
    let expected = (400, "conversation_locked".to_owned(), "conversation".to_owned());
    assert_eq!(error(&create(&client, more).await), expected);
    let path = format!("{PATH}/{}", id(&running));
    assert_eq!(error(&client.delete(&path).await).1, "RESPONSE_IN_PROGRESS");
    for store in [true, false] {
        let more = json!({"input": "two", "previous_response_id": id(&running), "store": store});
        assert_eq!(error(&create(&client, more).await).1, "PREVIOUS_RESPONSE_NOT_COMPLETE");
    }
    let cancelled = client.post(&format!("{path}/cancel"), &json!({})).await.ok(200);
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(client.get(&path).await.ok(200)["status"], "cancelled");
    // A response that has ended does not change.
    let again = client.post(&format!("{path}/cancel"), &json!({})).await.ok(200);
    assert_eq!(again, cancelled);
    assert_eq!(texts(&items(&client, &conversation).await), ["one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ai_sdk_sends_earlier_messages_again() {
    let model = Model::start(|before| Reply::Text(format!("answer {before}"))).await;
    let (_stack, client) = setup(&model).await;
    let conversation = conversation(&client).await;
    let user = |text: &str| json!({"role": "user", "content": [{"type": "input_text", "text": text}]});
    let body = |inputs: &[Value]| json!({"input": inputs, "conversation": conversation});
    let sdk = client.with("user-agent", "ai/7.0.173 ai-sdk/openai/4.0.118 runtime/node.js/24");
    create(&sdk, body(&[user("one")])).await.ok(200);
    create(&sdk, body(&[user("one"), user("two")])).await.ok(200);
    let recorded = items(&client, &conversation).await;
    assert_eq!(texts(&recorded), ["one", "answer 0", "two", "answer 1"]);
    // Other clients send only what is new.
    create(&client, body(&[user("one"), user("two"), user("three")])).await.ok(200);
    assert_eq!(items(&client, &conversation).await.len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn references_are_resolved_without_a_conversation() {
    let model = Model::start(|before| Reply::Text(format!("answer {before}"))).await;
    let (_stack, client) = setup(&model).await;
    let first = create(&client, json!({"input": "one"})).await.ok(200);
    let reference = json!({"type": "item_reference", "id": first["output"][0]["id"]});
    let message = |text: &str| json!({"role": "user", "content": text});
    let more = json!({"input": [message("one"), reference, message("two")]});
    let second = create(&client, more).await.ok(200);
    assert_eq!(text(&second), "answer 1");
    let chain = [("user", "one"), ("assistant", "answer 0"), ("user", "two")];
    assert_eq!(last_sent(&model), pairs(&chain));
    // The model reads the items of its own chain anyway.
    let more = json!({"input": [reference, message("three")], "previous_response_id": id(&first)});
    create(&client, more).await.ok(200);
    let chain = [("user", "one"), ("assistant", "answer 0"), ("user", "three")];
    assert_eq!(last_sent(&model), pairs(&chain));
}
