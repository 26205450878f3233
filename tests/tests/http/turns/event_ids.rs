//! Event ids contain their run: a client resumes that run, or gets the active run from its start.

use serde_json::json;

use super::fixture::TurnFixture;
use super::sse::{Event, EventStream, kinds, say, text};

const FIRST: &str = "one two three four five six";
const SECOND: &str = "a b c d e f g h i j k l m n o p q r s t u v w x y z";

async fn resume(fixture: &TurnFixture, chat: &str, query: &str, id: &str) -> EventStream {
    let path = format!("/api/chats/{chat}/stream{query}");
    let request = fixture.client.request(reqwest::Method::GET, &path);
    EventStream::open(request.header("last-event-id", id)).await
}

/// Receives a whole answer; returns its run and events.
async fn receive_answer(fixture: &TurnFixture, chat: &str, question: &str) -> (String, Vec<Event>) {
    let mut page = say(&fixture.client, chat, &json!({"content": question})).await;
    let heard = page.rest().await;
    fixture.idle(chat).await;
    (page.run, heard)
}

fn id(event: &Event) -> &str {
    event.id.as_deref().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn event_ids_of_other_runs_skip_nothing() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    let (first, heard) = receive_answer(&fixture, &chat, FIRST).await;
    let middle = heard.iter().position(|event| event.data.contains("two")).unwrap();
    let last = heard.iter().rfind(|event| event.id.is_some()).unwrap();
    let mut page = say(&fixture.client, &chat, &json!({"content": SECOND})).await;
    let (second, part) = (page.run.clone(), heard[middle].part().unwrap());
    let opening = page.next().await.unwrap();
    let nowhere = uuid::Uuid::now_v7();
    // The rest of the run of the id, if it has more events.
    let mut rest = resume(&fixture, &chat, "", id(&heard[middle])).await;
    assert_eq!((rest.status, &rest.run), (200, &first));
    assert_eq!(rest.rest().await, heard[middle + 1..]);
    // Otherwise the active run from its start; also for a number without a run.
    let mut whole = Vec::new();
    for (query, id) in [
        (String::new(), id(last).to_owned()),
        (String::new(), format!("{nowhere}:7")),
        (String::new(), "7".to_owned()),
        (format!("?run={second}"), id(&heard[middle]).to_owned()),
        ("?from=7".to_owned(), String::new()),
    ] {
        let listening = resume(&fixture, &chat, &query, &id).await;
        assert_eq!((listening.status, &listening.run), (200, &second), "{query} {id}");
        whole.push(listening);
    }
    let answer = [vec![opening], page.rest().await].concat();
    for mut listening in whole {
        assert_eq!(listening.rest().await, answer);
    }
    // A number alone refers to the run in the query.
    let mut numbered = resume(&fixture, &chat, &format!("?run={first}"), &part.to_string()).await;
    assert_eq!(numbered.rest().await, heard[middle + 1..]);
    fixture.idle(&chat).await;
    assert_eq!(resume(&fixture, &chat, "", id(last)).await.status, 204);
    assert_eq!(text(&answer), format!("echo: {SECOND}"));
    assert_eq!(kinds(&answer).first().unwrap(), "start");
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_event_ids_are_rejected() {
    let fixture = TurnFixture::new().await;
    let chat = fixture.chat().await;
    for id in ["x", "1:x", ":", "x:1", "-1", "00000000-0000-0000-0000-000000000000:"] {
        let path = format!("/api/chats/{chat}/stream");
        let answer = fixture.client.with("last-event-id", id).get(&path).await;
        assert_eq!(answer.status_and_code(), (400, "FIELD_MALFORMED".to_owned()), "{id}");
    }
}
