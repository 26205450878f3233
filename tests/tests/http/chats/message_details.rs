//! Messages have the times, models and tokens that the record has, the same on every page and in a fork.

use serde_json::{Value, json};
use tests::events::{assistant, call, error, result, user};
use wire::proto::event::v1::Event;
use wire::proto::event::v1::Usage;
use wire::proto::event::v1::event::Fact;

use crate::fixture::{Fixture, begin, list, text};

/// The events' own times, as imports send them: seconds after 2020-01-01T00:00:00Z.
fn at(seconds: i64, event: Event) -> Event {
    let occurred_at = prost_types::Timestamp { seconds: 1_577_836_800 + seconds, nanos: 0 };
    Event { occurred_at: Some(occurred_at), ..event }
}

/// An answer of a model that read 10 tokens, 4 of them from a cache, and wrote some.
fn answer(model: &str, output_tokens: u64) -> Event {
    let mut event = assistant("a");
    if let Some(Fact::MessageAppended(message)) = &mut event.fact {
        model.clone_into(&mut message.model);
        message.usage = Some(Usage { input_tokens: 10, output_tokens, cached_tokens: 4, reasoning_tokens: 1 });
    }
    event
}

fn details(message: &Value) -> Value {
    json!([message["role"], message["createdAt"], message["model"], message["usage"]])
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_have_their_times_models_and_tokens() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let turn = vec![
        at(1, user("q")),
        at(2, answer("m-1", 3)),
        at(3, call("c1", "{}")),
        at(4, result("c1", "{}")),
        at(5, answer("m-2", 5)),
    ];
    fixture.agent.append(&chat, turn).await;
    fixture.agent.append(&chat, vec![at(6, user("q2"))]).await;
    fixture.agent.append(&chat, vec![error("outside of runs"), at(7, assistant("b"))]).await;
    let expected = json!([
        ["user", "2020-01-01T00:00:01Z", null, null],
        ["assistant", "2020-01-01T00:00:02Z", "m-2",
            {"inputTokens": 20, "outputTokens": 8, "cachedTokens": 8, "reasoningTokens": 2}],
        ["user", "2020-01-01T00:00:06Z", null, null],
        ["assistant", "2020-01-01T00:00:07Z", null, null],
    ]);
    let shown = async |path: String| {
        let page = session.get(&path).await.ok(200);
        let details = list(&page, "messages").iter().map(details).collect();
        (Value::Array(details), page["nextBefore"].clone())
    };
    let path = format!("/api/chats/{chat}");
    assert_eq!(shown(path.clone()).await, (expected.clone(), Value::Null));
    // Pages have the same details.
    let (newest, before) = shown(format!("{path}?limit=2")).await;
    let (oldest, none) = shown(format!("{path}?limit=2&before={before}")).await;
    let pages = [oldest.as_array().unwrap().clone(), newest.as_array().unwrap().clone()].concat();
    assert_eq!((Value::Array(pages), none), (expected.clone(), Value::Null));
    // A fork inherits them.
    let fork = session.post(&format!("{path}/fork"), &json!({})).await.ok(201);
    let fork = format!("/api/chats/{}", text(&fork, "id"));
    assert_eq!(shown(fork).await.0, expected);
    let listed = session.get(&format!("/v1/chat/sessions/{chat}/messages")).await.ok(200);
    let second = &list(&listed, "messages")[1];
    let usage = json!({"input_tokens": 20, "output_tokens": 8, "cached_tokens": 8});
    assert_eq!(
        json!([second["created_at"], second["model"], second["usage"]]),
        json!(["2020-01-01T00:00:02Z", "m-2", usage])
    );
    let other = fixture.session("other");
    assert_eq!(other.get(&path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_of_runs_have_their_details() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let begun = session.post("/v1/chat/sessions", &json!({})).await.ok(201);
    let chat = text(&begun, "session_id");
    let turn = json!({"message": "hello", "session_id": chat});
    let answer = session.post("/v1/chat", &turn).await.ok(200);
    let listed = session.get(&format!("/v1/chat/sessions/{chat}/messages")).await.ok(200);
    let last = &list(&listed, "messages")[1];
    assert_eq!((&last["usage"], &last["model"]), (&answer["usage"], &json!("echo")));
    let chat = session.get(&format!("/api/chats/{chat}")).await.ok(200);
    let [question, answer] = list(&chat, "messages") else {
        panic!("two messages: {chat}");
    };
    let times = [&chat["createdAt"], &question["createdAt"], &answer["createdAt"], &chat["updatedAt"]]
        .map(|time| time.as_str().unwrap().trim_end_matches('Z'));
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(answer["createdAt"], last["created_at"]);
    assert!(question.get("model").is_none() && question.get("usage").is_none());
}
