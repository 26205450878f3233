//! A second tab shows what the first one says.

use serde_json::{Value, json};

use super::{next_recorded, recorded_to, version_of, watch_chat};
use crate::fixture::{list, text};
use crate::turns::fixture::TurnFixture;
use crate::turns::sse::ask;

#[tokio::test(flavor = "multi_thread")]
async fn a_second_tab_shows_what_the_first_one_says() {
    let fixture = TurnFixture::new().await;
    let (_other, other_gateway) = fixture.second_gateway().await;
    let chat = fixture.chat().await;
    let mut tab = watch_chat(&fixture.client, &chat, 0).await;
    let mut other_tab = watch_chat(&other_gateway, &chat, 1).await;
    let created = next_recorded(&mut tab).await.unwrap();
    assert_eq!(created["type"], "ConversationCreated");
    let caught_up = tab.next().await.unwrap();
    assert_eq!((caught_up.name.as_deref(), &*caught_up.data), (Some("caught-up"), "{\"version\":1}"));
    ask(&fixture.client, &chat, &json!({"content": "hello there"})).await;
    fixture.idle(&chat).await;
    ask(&other_gateway, &chat, &json!({"content": "again"})).await;
    fixture.idle(&chat).await;
    let recorded = exported(&fixture, &chat).await;
    let last = version_of(recorded.last().unwrap());
    let mut seen = vec![created];
    seen.extend(recorded_to(&mut tab, last).await);
    assert_eq!(seen, recorded);
    assert_eq!(recorded_to(&mut other_tab, last).await, recorded[1..]);
    let messages: Vec<(&str, &str)> = seen.iter().filter_map(message).collect();
    let expected =
        [("user", "hello there"), ("assistant", "echo: hello there"), ("user", "again"), ("assistant", "echo: again")];
    assert_eq!(messages, expected);
    let runs = seen.iter().filter(|event| event["type"] == "RunStarted");
    assert_eq!(runs.count(), 2);
}

fn message(event: &Value) -> Option<(&str, &str)> {
    let is_message = event["type"] == "MessageAppended";
    is_message.then(|| (text(event, "role"), text(&event["parts"][0], "text")))
}

/// The events in the export, without the bytes of the record.
async fn exported(fixture: &TurnFixture, chat: &str) -> Vec<Value> {
    let path = format!("/api/chats/{chat}/export");
    let export = fixture.client.get(&path).await.ok(200);
    let mut events = list(&export, "events").to_vec();
    for event in &mut events {
        event.as_object_mut().unwrap().remove("raw").unwrap();
    }
    events
}
