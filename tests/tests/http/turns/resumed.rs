//! Ids of events name their run: who comes back with one hears the rest of that run, or the one that goes on from its start.

use serde_json::json;

use super::ground::Talk;
use super::sse::{Event, Listening, kinds, say, text};

const FIRST: &str = "one two three four five six";
const SECOND: &str = "a b c d e f g h i j k l m n o p q r s t u v w x y z";

async fn back(talk: &Talk, chat: &str, query: &str, id: &str) -> Listening {
    let path = format!("/api/chats/{chat}/stream{query}");
    let request = talk.door.request(reqwest::Method::GET, &path);
    Listening::open(request.header("last-event-id", id)).await
}

/// Hears a whole answer, and gives its run and events.
async fn answered(talk: &Talk, chat: &str, said: &str) -> (String, Vec<Event>) {
    let mut page = say(&talk.door, chat, &json!({"content": said})).await;
    let heard = page.rest().await;
    talk.idle(chat).await;
    (page.run, heard)
}

fn id(event: &Event) -> &str {
    event.id.as_deref().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_another_run_never_skips_the_beginning_of_this_one() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    let (first, heard) = answered(&talk, &chat, FIRST).await;
    let middle = heard
        .iter()
        .position(|event| event.data.contains("two"))
        .unwrap();
    let last = heard.iter().rfind(|event| event.id.is_some()).unwrap();
    let mut page = say(&talk.door, &chat, &json!({"content": SECOND})).await;
    let (second, part) = (page.run.clone(), heard[middle].part().unwrap());
    let opening = page.next().await.unwrap();
    let nowhere = uuid::Uuid::now_v7();
    // The rest of the run of the id, as long as there is more of it.
    let mut rest = back(&talk, &chat, "", id(&heard[middle])).await;
    assert_eq!((rest.status, &rest.run), (200, &first));
    assert_eq!(rest.rest().await, heard[middle + 1..]);
    // Else the run that goes on, from its start; so too where a number says nothing of its run.
    let mut whole = Vec::new();
    for (query, id) in [
        (String::new(), id(last).to_owned()),
        (String::new(), format!("{nowhere}:7")),
        (String::new(), "7".to_owned()),
        (format!("?run={second}"), id(&heard[middle]).to_owned()),
        ("?from=7".to_owned(), String::new()),
    ] {
        let listening = back(&talk, &chat, &query, &id).await;
        assert_eq!(
            (listening.status, &listening.run),
            (200, &second),
            "{query} {id}"
        );
        whole.push(listening);
    }
    let answer = [vec![opening], page.rest().await].concat();
    for mut listening in whole {
        assert_eq!(listening.rest().await, answer);
    }
    // A bare number is taken as of the run that the query names.
    let mut numbered = back(&talk, &chat, &format!("?run={first}"), &part.to_string()).await;
    assert_eq!(numbered.rest().await, heard[middle + 1..]);
    talk.idle(&chat).await;
    assert_eq!(back(&talk, &chat, "", id(last)).await.status, 204);
    assert_eq!(text(&answer), format!("echo: {SECOND}"));
    assert_eq!(kinds(&answer).first().unwrap(), "start");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_none_is_refused() {
    let talk = Talk::new().await;
    let chat = talk.chat().await;
    for id in [
        "x",
        "1:x",
        ":",
        "x:1",
        "-1",
        "00000000-0000-0000-0000-000000000000:",
    ] {
        let path = format!("/api/chats/{chat}/stream");
        let answer = talk.door.with("last-event-id", id).get(&path).await;
        assert_eq!(answer.told(), (400, "FIELD_MALFORMED".to_owned()), "{id}");
    }
}
