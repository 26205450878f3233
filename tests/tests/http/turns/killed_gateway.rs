//! A gateway is killed with -9 during an answer: the client resumes at another one, and loses no event.

use serde_json::json;
use tests::http_client::HttpClient;

use super::fixture::{TurnFixture, idle, messages};
use super::sse::{Event, EventStream, ask, kinds, listen, say, text};
use crate::fixture::list;

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_a_killed_gateway_resume_at_another() {
    let mut fixture = TurnFixture::in_processes(tests::program!()).await;
    let (_other, second) = fixture.second_gateway().await;
    let chat = fixture.chat().await;
    // Long enough that the answer does not end before the kill.
    let words: Vec<String> = (0..2_000).map(|word| format!("w{word}")).collect();
    let question = words.join(" ");
    let mut page = say(&fixture.client, &chat, &json!({"content": question})).await;
    let heard = until_killed(&mut page, || fixture.stack.gateway.kill()).await;
    let after = heard.last().unwrap().id.clone();

    // As browsers resume, and as the AI SDK does, without an event id.
    let mut back = listen(&second, &chat, after.as_deref()).await;
    let path = format!("/api/chat/{chat}/stream");
    let mut whole = EventStream::open(second.request(reqwest::Method::GET, &path)).await;
    assert_eq!((back.status, whole.status), (200, 200));
    let resumed = [heard, back.rest().await].concat();
    let whole = whole.rest().await;
    assert_eq!(kinds(&resumed).last().unwrap(), "error");
    assert_eq!(whole, resumed);

    idle(&second, &chat).await;
    let kept = text(&resumed);
    assert!(kept.starts_with("echo: w0 w1 "), "{kept}");
    let first = [("user", question), ("assistant", kept)].map(pair);
    assert_eq!(messages(&second, &chat).await, first);
    assert_eq!(outcomes(&second, &chat).await, ["abandoned"]);

    // The chat can be continued through the other gateway, and through the restarted one.
    let answered = text(&ask(&second, &chat, &json!({"content": "and now?"})).await);
    assert_eq!(answered, "echo: and now?");
    idle(&second, &chat).await;
    fixture.stack.start().await;
    let again = text(&ask(&fixture.client, &chat, &json!({"content": "and here?"})).await);
    assert_eq!(again, "echo: and here?");
    fixture.idle(&chat).await;
    assert_eq!(fixture.messages(&chat).await, messages(&second, &chat).await);
    assert_eq!(fixture.messages(&chat).await[..2], first);
    let ends = outcomes(&second, &chat).await;
    assert_eq!(ends, ["abandoned", "completed", "completed"]);
}

/// The events until the gateway is killed, up to the last complete part.
async fn until_killed(page: &mut EventStream, kill: impl FnOnce()) -> Vec<Event> {
    let mut heard: Vec<Event> = Vec::new();
    while !heard.iter().any(|event| event.data.contains("w8")) {
        heard.push(page.next().await.expect("an event"));
    }
    kill();
    heard.extend(page.rest().await);
    assert!(heard.iter().all(|event| event.data != "[DONE]"));
    let last = heard.iter().rposition(|event| event.id.is_some());
    heard.truncate(last.unwrap() + 1);
    heard
}

fn pair((role, text): (&str, String)) -> (String, String) {
    (role.to_owned(), text)
}

/// The outcomes of the chat's runs in the record.
async fn outcomes(client: &HttpClient, chat: &str) -> Vec<String> {
    let path = format!("/api/chats/{chat}/export?format=json");
    let exported = client.get(&path).await.ok(200);
    let events = list(&exported, "events").iter();
    let ends = events.filter_map(|event| event["outcome"].as_str());
    ends.map(str::to_owned).collect()
}
