//! `/openai/v1/conversations`: items come back as they were sent, and all other APIs see them.

mod access;
mod bounds;
mod deletions;
mod item_cases;
mod retries;
mod round_trip;

use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer, list, text};

const PATH: &str = "/openai/v1/conversations";
const ALL: [Scope; 3] = [Scope::Append, Scope::Read, Scope::Erase];

/// A back end with a secret key of [`Fixture::agent_id`].
async fn back_end(fixture: &Fixture, scopes: &[Scope]) -> HttpClient {
    let key = fixture.operator.secret_key(scopes, &[fixture.agent_id]).await;
    let client = bearer(&fixture.stack, &key.secret);
    eventually("a gateway that knows the key", || async {
        (client.get("/openai/v1/models").await.status == 200).then_some(())
    })
    .await;
    client
}

/// A new conversation with these items; its path.
async fn created(client: &HttpClient, items: Value) -> String {
    let body = json!({"items": items});
    let conversation = client.post(PATH, &body).await.ok(200);
    format!("{PATH}/{}", text(&conversation, "id"))
}

/// Appends items; returns the list of the new ones.
async fn append(client: &HttpClient, path: &str, items: Value) -> Value {
    let body = json!({"items": items});
    client.post(&format!("{path}/items"), &body).await.ok(200)
}

/// The items of a conversation, oldest first.
async fn items(client: &HttpClient, path: &str) -> Vec<Value> {
    let path = format!("{path}/items?order=asc&limit=100");
    list(&client.get(&path).await.ok(200), "data").to_vec()
}

/// The texts of messages, oldest first.
async fn texts(client: &HttpClient, path: &str) -> Vec<String> {
    let page = items(client, path).await;
    let items = page.iter().filter_map(|item| item["content"][0]["text"].as_str());
    items.map(str::to_owned).collect()
}

/// A message of a user.
fn message(content: &str) -> Value {
    json!({"role": "user", "content": content})
}

/// Status, code and parameter of an error.
fn error(answer: &Answer) -> (u16, String, String) {
    let error = answer.json()["error"].clone();
    let member = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
    (answer.status, member("code"), member("param"))
}
