//! A gateway is killed with -9 in the middle of an answer: the client goes on at another one, and nothing that it heard is lost.

use serde_json::json;
use tests::door::Door;

use super::ground::{Talk, idle, said};
use super::sse::{Event, Listening, ask, kinds, listen, say, text};
use crate::ground::list;

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_a_killed_gateway_goes_on_at_another() {
    let mut talk = Talk::in_processes(tests::program!()).await;
    let (_other, second) = talk.second().await;
    let chat = talk.chat().await;
    // Long enough that it cannot come to its end before its gateway does.
    let words: Vec<String> = (0..2_000).map(|word| format!("w{word}")).collect();
    let question = words.join(" ");
    let mut page = say(&talk.door, &chat, &json!({"content": question})).await;
    let heard = until_killed(&mut page, || talk.stack.gateway.kill()).await;
    let after = heard.last().unwrap().id.clone();

    // As browsers come back, and as the AI SDK does: with nothing in its hands.
    let mut back = listen(&second, &chat, after.as_deref()).await;
    let path = format!("/api/chat/{chat}/stream");
    let whole = second.request(reqwest::Method::GET, &path);
    let mut whole = Listening::open(whole).await;
    assert_eq!((back.status, whole.status), (200, 200));
    let resumed = [heard, back.rest().await].concat();
    let whole = whole.rest().await;
    assert_eq!(kinds(&resumed).last().unwrap(), "error");
    assert_eq!(whole, resumed);

    idle(&second, &chat).await;
    let kept = text(&resumed);
    assert!(kept.starts_with("echo: w0 w1 "), "{kept}");
    let first = [("user", question), ("assistant", kept)].map(pair);
    assert_eq!(said(&second, &chat).await, first);
    assert_eq!(outcomes(&second, &chat).await, ["abandoned"]);

    // It can be used again, through the gateway that is left, and through the one that was killed.
    let answered = text(&ask(&second, &chat, &json!({"content": "and now?"})).await);
    assert_eq!(answered, "echo: and now?");
    idle(&second, &chat).await;
    talk.stack.start().await;
    let again = text(&ask(&talk.door, &chat, &json!({"content": "and here?"})).await);
    assert_eq!(again, "echo: and here?");
    talk.idle(&chat).await;
    assert_eq!(talk.said(&chat).await, said(&second, &chat).await);
    assert_eq!(talk.said(&chat).await[..2], first);
    let ends = outcomes(&second, &chat).await;
    assert_eq!(ends, ["abandoned", "completed", "completed"]);
}

/// What is heard until the gateway is gone, up to the last part that came whole.
async fn until_killed(page: &mut Listening, kill: impl FnOnce()) -> Vec<Event> {
    let mut heard: Vec<Event> = Vec::new();
    while !heard.iter().any(|event| event.data.contains("w8")) {
        heard.push(page.next().await.expect("a stream that goes on"));
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

/// How the chat's runs ended, as its record has it.
async fn outcomes(door: &Door, chat: &str) -> Vec<String> {
    let path = format!("/api/chats/{chat}/export?format=json");
    let exported = door.get(&path).await.ok(200);
    let events = list(&exported, "events").iter();
    let ends = events.filter_map(|event| event["outcome"].as_str());
    ends.map(str::to_owned).collect()
}
