//! What of a sent history is recorded, and what the model reads.

use serde_json::{Value, json};

use super::{
    AGENT, CONVERSATION, PATH, System, assistant, body, conversation, history, pairs, recorded, say, send, user,
};
use crate::fixture::text;

#[tokio::test(flavor = "multi_thread")]
async fn new_messages_are_recorded_once() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let metadata = json!({"topic": "parcels"});
    let mut first = body(&[json!({"role": "system", "content": "Be kind."}), user("a")]);
    first["store"] = json!(true);
    first["metadata"] = metadata.clone();
    let answer = ada.post(PATH, &first).await;
    assert_eq!(answer.ok(200)["choices"][0]["message"]["content"], "1: a", "whole");
    assert!(answer.headers.contains_key("x-position-token"));
    let id = conversation(&answer);
    assert!(id.starts_with("conv_"), "{id}");
    let stored = ada.get(&format!("/openai/v1/conversations/{id}")).await;
    assert_eq!(stored.ok(200)["metadata"], metadata);
    // The next turn names the conversation; white space around an answer is not an edit.
    let chat = ada.with(CONVERSATION, &id);
    let instructions = json!({"role": "system", "content": "Be short."});
    let messages = [instructions, user("a"), assistant("1: a\n"), user("b")];
    let answer = send(&chat, &messages).await;
    assert_eq!(answer.ok(200)["choices"][0]["message"]["content"], "2: b");
    assert_eq!(conversation(&answer), id);
    let expected = [("user", "a"), ("assistant", "1: a"), ("user", "b"), ("assistant", "2: b")];
    assert_eq!(history(&ada, &id).await, pairs(&expected));
    let sent = [("system", "Be short."), ("user", "a"), ("assistant", "1: a"), ("user", "b")];
    let read: Vec<_> = system.last_context();
    let trimmed = read.iter().map(|(role, text)| (role.as_str(), text.trim()));
    assert_eq!(trimmed.collect::<Vec<_>>(), sent);
    // Nothing but the exchange and its runs.
    let kinds = recorded(&ada, &id).await;
    assert!(!kinds.contains(&"HistoryRewound".to_owned()), "{kinds:?}");
    let another = ada.post(PATH, &first).await;
    assert_ne!(conversation(&another), id, "store creates one conversation for each request");
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_and_regenerations_hide_and_keep() {
    let system = System::start().await;
    let chat = system.client.with(CONVERSATION, "chat-1");
    let one = say(&chat, &[user("a")]).await;
    let two = say(&chat, &[one.clone(), vec![user("b")]].concat()).await;
    let id = conversation(&send(&chat, &[two, vec![user("c")]].concat()).await);
    let events = recorded(&system.client, &record_id(&id)).await.len();
    // The answer to b again, then another b, then another beginning, then the first beginning again.
    let regenerated = say(&chat, &[one.clone(), vec![user("b")]].concat()).await;
    assert_eq!(regenerated.last(), Some(&assistant("4: b")));
    let edited = say(&chat, &[one, vec![user("B")]].concat()).await;
    let expected = [("user", "a"), ("assistant", "1: a"), ("user", "B"), ("assistant", "5: B")];
    assert_eq!(history(&system.client, &id).await, pairs(&expected));
    say(&chat, &[user("x")]).await;
    let expected = [("user", "x"), ("assistant", "6: x")];
    assert_eq!(history(&system.client, &id).await, pairs(&expected));
    say(&chat, &[edited, vec![user("d")]].concat()).await;
    let texts = history(&system.client, &id).await;
    assert_eq!(texts.len(), 6, "{texts:?}");
    assert_eq!(texts.last().unwrap().1, "7: d");
    // A client that has dropped its oldest messages continues.
    let end = [user("d"), assistant("7: d"), user("e")];
    say(&chat, &end).await;
    assert_eq!(history(&system.client, &id).await.len(), 8);
    let kinds = recorded(&system.client, &record_id(&id)).await;
    let rewinds = kinds.iter().filter(|kind| *kind == "HistoryRewound");
    assert_eq!(rewinds.count(), 4);
    assert!(kinds.len() > events, "no event is deleted");
    let messages = kinds.iter().filter(|kind| *kind == "MessageAppended");
    // Three turns, an answer again, three edits, of which the last one records four messages again, and the last turn.
    assert_eq!(messages.count(), 6 + 1 + 2 + 2 + 6 + 2);
}

/// The id in the record of a conversation without an end user.
fn record_id(id: &str) -> String {
    format!("history:{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_reads_the_record_if_it_is_managed() {
    let system = System::start().await;
    let chat = system.client.with(CONVERSATION, "chat-1");
    let one = say(&chat, &[user("a")]).await;
    let other = say(&chat, &[one.clone(), vec![user("b")]].concat()).await;
    let managed = chat.with("x-hansard-context", "managed");
    let mut streamed = body(&[other.clone(), vec![user("c")]].concat());
    streamed["stream"] = json!(true);
    streamed["messages"][0]["content"] = json!("a ");
    let instructions = json!({"role": "system", "content": "Be kind."});
    streamed["messages"].as_array_mut().unwrap().insert(0, instructions);
    let answer = managed.post(PATH, &streamed).await;
    assert_eq!(answer.status, 200);
    let whole = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(whole.ends_with("data: [DONE]\n\n"), "{whole}");
    assert_eq!(streamed_text(&whole), "3: c");
    let read = [
        ("system", "Be kind."),
        ("user", "a"),
        ("assistant", "1: a"),
        ("user", "b"),
        ("assistant", "2: b"),
        ("user", "c"),
    ];
    assert_eq!(system.last_context(), pairs(&read));
    // After the last event the answer is recorded, so the next turn continues without a wait.
    let id = conversation(&answer);
    assert_eq!(history(&system.client, &id).await.len(), 6);
    // A rewound history is what the model reads, too.
    say(&managed, &[one, vec![user("d")]].concat()).await;
    let read = [("user", "a"), ("assistant", "1: a"), ("user", "d")];
    assert_eq!(system.last_context(), pairs(&read));
}

fn streamed_text(stream: &str) -> String {
    let events = stream.split("\n\n");
    let chunks = events.filter_map(|event| {
        let chunk: Value = serde_json::from_str(event.strip_prefix("data: ")?).ok()?;
        Some(chunk["choices"][0]["delta"]["content"].as_str()?.to_owned())
    });
    chunks.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn other_models_and_other_apis() {
    let system = System::start().await;
    let ada = system.client.with("x-hansard-user", "ada");
    let mut request = body(&[user("a")]);
    request["model"] = json!(format!("{AGENT}/small"));
    request["store"] = json!(true);
    request["temperature"] = json!(0.5);
    let answer = ada.post(PATH, &request).await;
    answer.ok(200);
    let sent = system.model.requests()[0].clone();
    assert_eq!((&sent["model"], &sent["temperature"]), (&json!("small"), &json!(0.5)));
    let id = conversation(&answer);
    let path = format!("/v1/conversations/{id}/events");
    let events = ada.get(&path).await.ok(200);
    let mut started = events["events"].as_array().unwrap().iter().filter(|event| text(event, "type") == "RunStarted");
    assert_eq!(started.next().unwrap()["model"], "small");
    // A conversation of another API is continued.
    let items = json!({"items": [user("from another API")]});
    let created = ada.post("/openai/v1/conversations", &items).await.ok(200);
    let id = text(&created, "id");
    let answer = send(&ada.with(CONVERSATION, id), &[user("from another API")]).await;
    assert_eq!(conversation(&answer), id);
    assert_eq!(history(&ada, id).await.len(), 2);
}
