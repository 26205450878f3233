//! `/v1/histories/{key}`: a back end records and loads histories under its own keys.

mod access;
mod keys;
mod messages;
mod recording;

use serde_json::{Value, json};
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer, list, text};

const BOTH: [Scope; 2] = [Scope::Append, Scope::Read];

/// A back end of one agent.
async fn back_end(fixture: &Fixture, agent: &str) -> HttpClient {
    let key = fixture.operator.secret_key(&BOTH, &[agent]).await;
    bearer(&fixture.stack, &key.secret)
}

/// A back end of [`Fixture::agent_id`].
async fn bot(fixture: &Fixture) -> HttpClient {
    back_end(fixture, fixture.agent_id).await
}

/// The path of a history; every byte of the key is percent-encoded.
fn path(key: &str) -> String {
    key.bytes().fold("/v1/histories/".to_owned(), |path, byte| format!("{path}%{byte:02X}"))
}

/// Messages: `u hi` is of the user, `a hello` of the assistant, `s be kind` are instructions.
fn messages(short: &[&str]) -> Value {
    let messages = short.iter().map(|short| {
        let (who, content) = short.split_once(' ').expect("a speaker and a text");
        let role = match who {
            "u" => "user",
            "a" => "assistant",
            "s" => "system",
            _ => panic!("{short}"),
        };
        json!({"role": role, "content": content})
    });
    json!({"messages": messages.collect::<Vec<_>>()})
}

/// The messages of an answer in short form.
fn short(history: &Value) -> Vec<String> {
    let messages = list(history, "messages").iter();
    messages
        .map(|message| {
            let who = &text(message, "role")[..1];
            format!("{who} {}", text(&message["parts"][0], "text"))
        })
        .collect()
}

/// Records without a warning.
async fn record(client: &HttpClient, key: &str, current: &[&str]) -> Value {
    let path = format!("{}/messages", path(key));
    let recorded = client.post(&path, &messages(current)).await.ok(200);
    assert_eq!(recorded["warnings"], json!([]), "{recorded}");
    recorded
}

/// Loads without a warning.
async fn load(client: &HttpClient, key: &str) -> Value {
    let loaded = client.get(&path(key)).await.ok(200);
    assert_eq!(loaded["warnings"], json!([]), "{loaded}");
    loaded
}
