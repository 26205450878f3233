//! Titles of conversations without one: once, from the first message, never instead of a caller's.

use axum::http::StatusCode;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::{AgentSettings, ModelSettings, TitleSettings};

use super::fixture::{TurnFixture, idle, open_settings};
use super::model::{Model, Reply};
use super::sse::ask;
use crate::fixture::{begin, list, text};

fn model(server: &str) -> ModelSettings {
    ModelSettings { server: server.to_owned(), model: "m".to_owned(), ..ModelSettings::default() }
}

async fn set_titles(fixture: &TurnFixture, titles: Option<TitleSettings>) {
    let settings = AgentSettings { model: Some(model("slow")), titles, ..open_settings() };
    fixture.operator.settings(fixture.agent_id, settings).await;
}

/// The titles that the chat has got, in order, and the versions at which it got them.
async fn titles(client: &HttpClient, chat: &str) -> Vec<(u64, Value)> {
    let path = format!("/api/chats/{chat}/export?format=json");
    let exported = client.get(&path).await.ok(200);
    let events = list(&exported, "events").iter();
    let updates = events
        .filter(|event| event["type"] == "ConversationUpdated")
        .map(|event| (event["version"].as_u64().unwrap(), event["title"].clone()));
    updates.collect()
}

/// Says something and waits for the end of the answer.
async fn say(client: &HttpClient, chat: &str, content: &str) {
    ask(client, chat, &json!({"content": content})).await;
    idle(client, chat).await;
}

/// Waits until the chat has a title.
async fn title_of(client: &HttpClient, chat: &str) -> String {
    eventually("a title", || async {
        let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
        shown["title"].as_str().map(str::to_owned)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_are_the_beginning_of_the_first_message() {
    let fixture = TurnFixture::new().await;
    let client = &fixture.client;
    // Off by default. The chat of the next turn gets its title only because of the setting.
    let plain = fixture.chat().await;
    say(client, &plain, "no title").await;
    set_titles(&fixture, Some(TitleSettings { chars_max: 20, model: None })).await;
    // The first chat proves that the gateway knows the settings.
    eventually("a gateway that knows the settings", || async {
        let chat = fixture.chat().await;
        say(client, &chat, "one two three four five").await;
        let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
        shown["title"].as_str().map(|title| assert_eq!(title, "one two three four…"))
    })
    .await;
    let set = begin(client, &json!({"title": "mine"})).await;
    say(client, &set, "another title").await;
    // Another gateway sees the same chat: both finish runs of it, and one title is written.
    let (_other, second) = fixture.second_gateway().await;
    let chat = fixture.chat().await;
    say(client, &chat, "first words").await;
    say(&second, &chat, "later words").await;
    assert_eq!(title_of(&second, &chat).await, "first words");
    say(client, &chat, "last words").await;
    assert_eq!(titles(client, &chat).await.len(), 1);
    // A caller removes the title: it stays removed.
    let path = format!("/api/chats/{chat}");
    client.patch(&path, &json!({"title": null})).await.ok(200);
    say(client, &chat, "more words").await;
    // A chat that is titled after it shows that earlier tasks had time.
    let after = fixture.chat().await;
    say(client, &after, "after").await;
    assert_eq!(title_of(client, &after).await, "after");
    assert_eq!(client.get(&path).await.ok(200)["title"], Value::Null);
    let mine = client.get(&format!("/api/chats/{set}")).await.ok(200);
    assert_eq!((text(&mine, "title"), titles(client, &set).await), ("mine", Vec::new()));
    let plain = client.get(&format!("/api/chats/{plain}")).await.ok(200);
    assert_eq!(plain["title"], Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn titles_are_written_by_the_model_that_the_agent_names() {
    let answers = Model::start(|_| Reply::Text("fine".to_owned())).await;
    let titles_by = Model::start(|before| match before {
        // A model that fails writes the title after the next run.
        0 => Reply::Refused(StatusCode::BAD_REQUEST, json!({"error": "no"})),
        _ => Reply::Text(" \"Late\u{7} order\"\nWith more.".to_owned()),
    })
    .await;
    let mut fixture = TurnFixture::with_model(&answers, Vec::new(), |_| ()).await;
    let mut models = answers.settings_as("slow");
    models["titles"] = titles_by.settings_as("titles")["titles"].clone();
    fixture.stack.gateway.settings.gateway.models = serde_json::from_value(models).unwrap();
    fixture.restart().await;
    let by_model = TitleSettings { chars_max: 0, model: Some(model("titles")) };
    set_titles(&fixture, Some(by_model)).await;
    let client = &fixture.client;
    let chat = fixture.chat().await;
    eventually("a request for a title", || async {
        say(client, &chat, "where is my order?").await;
        (!titles_by.requests().is_empty()).then_some(())
    })
    .await;
    eventually("a title", || async {
        say(client, &chat, "hello?").await;
        let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
        shown["title"].as_str().map(|title| assert_eq!(title, "Late order"))
    })
    .await;
    let asked = titles_by.requests();
    assert!(asked.len() >= 2, "{asked:?}");
    let asked = asked[1]["messages"].to_string();
    assert!(asked.contains("where is my order?") && !asked.contains("hello?"), "{asked}");
    assert_eq!(titles(client, &chat).await.len(), 1);
}
