//! Calls and their results across turns.

use serde_json::{Value, json};

use super::{CONVERSATION, LOOK, PATH, System, body, conversation, history, pairs, recorded, user};

fn with_tools(messages: &[Value]) -> Value {
    let mut body = body(messages);
    body["tools"] = json!([{"type": "function", "function": {"name": "look"}}]);
    body
}

fn result(content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": "call_1", "content": content})
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_and_results_are_recorded() {
    let system = System::start().await;
    let chat = system.client.with("x-hansard-user", "ada").with(CONVERSATION, "chat-1");
    let question = user(LOOK);
    let answer = chat.post(PATH, &with_tools(std::slice::from_ref(&question))).await;
    let id = conversation(&answer);
    let called = answer.ok(200)["choices"][0]["message"].clone();
    assert_eq!(called["tool_calls"][0]["id"], "call_1");
    let messages = [question.clone(), called.clone(), result("stars")];
    let answer = chat.post(PATH, &with_tools(&messages)).await.ok(200);
    let answered = answer["choices"][0]["message"].clone();
    assert_eq!(answered["content"], "2: stars");
    let before = [("user", LOOK), ("call", "call_1"), ("result", "stars")];
    let expected = |answer: &str| {
        let mut pairs = pairs(&before);
        pairs.push(("assistant".to_owned(), answer.to_owned()));
        pairs
    };
    assert_eq!(shown(&system, &id).await, expected("2: stars"));
    let kinds = recorded(&system.client, &id).await;
    assert!(!kinds.contains(&"HistoryRewound".to_owned()), "{kinds:?}");
    // The answer after the result again: the call keeps its result.
    chat.post(PATH, &with_tools(&messages)).await.ok(200);
    assert_eq!(shown(&system, &id).await, expected("3: stars"));
    // Another result: its call is recorded again, since it was answered.
    let messages = [question, called, result("clouds")];
    chat.post(PATH, &with_tools(&messages)).await.ok(200);
    let texts = shown(&system, &id).await;
    assert_eq!(texts[2], ("result".to_owned(), "clouds".to_owned()));
    assert_eq!(texts.len(), 4);
    // A history with calls that the conversation never had.
    let chat = chat.with(CONVERSATION, "chat-2");
    let messages = [&messages[..], &[answered, user("next")]].concat();
    let answer = chat.post(PATH, &with_tools(&messages)).await;
    let texts = shown(&system, &conversation(&answer)).await;
    assert_eq!(texts.len(), 6, "{texts:?}");
    assert_eq!(texts.last().unwrap().1, "5: next");
}

/// The history without answers that only call.
async fn shown(system: &System, id: &str) -> Vec<(String, String)> {
    let mut texts = history(&system.client, id).await;
    texts.retain(|(_, text)| !text.is_empty());
    texts
}

#[tokio::test(flavor = "multi_thread")]
async fn the_agents_tools_do_not_run() {
    let system = System::start().await;
    let chat = system.client.with(CONVERSATION, "chat-1");
    let answer = chat.post(PATH, &with_tools(&[user(LOOK)])).await.ok(200);
    assert_eq!(answer["choices"][0]["finish_reason"], "tool_calls");
    // A user who goes on without a result.
    let call = answer["choices"][0]["message"].clone();
    let messages = [user(LOOK), call, result("stars"), user("next")];
    chat.post(PATH, &with_tools(&messages)).await.ok(200);
    assert_eq!(system.model.requests().len(), 2);
}
