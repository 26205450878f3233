//! `/v1/conversations`: a back end records what its own model said, and reads it back.

mod access;
mod bounds;
mod context;
mod lines;
mod lost_answers;
mod recording;

use serde_json::{Value, json};
use tests::http_client::HttpClient;

use super::service;
use crate::fixture::{Fixture, text};

/// A new conversation of a user; its path.
async fn created(fixture: &Fixture, service: &HttpClient) -> String {
    let body = json!({"agentId": fixture.agent_id, "userId": "ada"});
    let created = service.post("/v1/conversations", &body).await.ok(201);
    format!("/v1/conversations/{}", text(&created, "conversationId"))
}

/// A message of a user.
fn message(content: &str) -> Value {
    let parts = json!([{"type": "text", "text": content}]);
    json!({"type": "MessageAppended", "role": "user", "parts": parts})
}

/// Messages of a user.
fn messages(count: usize) -> Value {
    let events: Vec<Value> = (0..count).map(|number| message(&number.to_string())).collect();
    json!({"events": events})
}
