//! The matrix has one status for each operation and caller. The test fails if an operation is served but missing in the
//! matrix, or the reverse.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::eventually::within;
use tests::http_client::HttpClient;

use super::callers::{CALLERS, SESSION, callers};
use crate::fixture::{Fixture, begin};

/// The status for each caller, in the order of [`CALLERS`].
type Statuses = [u16; 12];

/// Operations for everybody.
const PUBLIC: Statuses = [200; 12];

/// Operations on a conversation of the session; `ok` for its owner.
const fn of_owner(ok: u16) -> Statuses {
    [401, ok, 404, 404, 401, 401, 404, 404, 401, 401, 401, 401]
}

/// Operations on data of the caller; `ok` for named callers.
const fn of_caller(ok: u16) -> Statuses {
    [401, ok, ok, ok, 401, 401, ok, ok, 401, 401, 401, 401]
}

/// Operations only for users with a token, who get `user`.
const fn of_user(user: u16) -> Statuses {
    [401, 401, 401, 401, 401, 401, user, 401, 401, 401, 401, 401]
}

/// Operations only for administrators; those of another tenant get `foreign`.
const fn of_admin(foreign: u16) -> Statuses {
    [401, 401, 401, 401, 401, 401, 401, 401, 401, 200, foreign, 401]
}

/// What only services may request; `ok` is the status of success.
const fn of_service(ok: u16) -> Statuses {
    [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, ok]
}

/// One operation: its name in the description, the request, and the statuses. `{id}` is a conversation of the session,
/// `{session}` an issued session, `{agent}` the agent.
struct Operation {
    name: &'static str,
    path: &'static str,
    body: Option<Value>,
    statuses: Statuses,
}

fn operation(name: &'static str, statuses: Statuses) -> Operation {
    let path = name.split_once(' ').unwrap().1;
    Operation { name, path, body: None, statuses }
}

impl Operation {
    fn path(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    fn body(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }

    async fn request_status(&self, client: &HttpClient, chat: &str, session: &str, agent: &str) -> u16 {
        let method = self.name.split_once(' ').unwrap().0;
        let in_body = |body: &Value| {
            let body = body.to_string().replace("{id}", chat).replace("{session}", session);
            body.replace("{agent}", agent).parse().unwrap()
        };
        let body: Option<Value> = self.body.as_ref().map(in_body);
        let path = self.path.replace("{id}", chat).replace("{key}", "room").replace("{agent}", agent);
        let request = client.request(method.parse().unwrap(), &path);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        // Some bodies are streams without an end.
        let answer = within(self.name, request.send()).await;
        answer.unwrap().status().as_u16()
    }
}

/// As for histories, the token is bound to no agent; `v1/documents.rs` tests tokens of agents.
fn of_documents() -> Vec<Operation> {
    vec![
        operation("PUT /v1/documents", of_service(400)).body(json!({"namespace": ["n"], "key": "k", "value": 1})),
        operation("POST /v1/documents/get", of_service(400)).body(json!({"namespace": ["n"], "key": "k"})),
        operation("POST /v1/documents/delete", of_service(400)).body(json!({"namespace": ["n"], "key": "k"})),
        operation("POST /v1/documents/search", of_service(400)).body(json!({})),
        operation("POST /v1/documents/namespaces", of_service(400)).body(json!({})),
        operation("POST /v1/documents/versions", of_service(400)).body(json!({"namespace": ["n"], "key": "k"})),
    ]
}

fn matrix() -> Vec<Operation> {
    // Sessions and users by name list their own data; a name without a token lists nothing.
    let listing = [401, 200, 200, 401, 401, 401, 200, 200, 401, 401, 401, 401];
    // The key is enough for a session.
    let of_key = [401, 201, 201, 201, 201, 201, 201, 201, 401, 401, 401, 401];
    let mut operations = vec![
        operation("GET /healthz", PUBLIC),
        operation("GET /v1/limits", PUBLIC),
        operation("GET /widget/1/hansard-chat.js", PUBLIC),
        // No build has this name; `widget` reads the files that exist.
        operation("GET /widget/1/{release}/{file}", [404; 12]),
        operation("POST /api/chats", of_caller(201)).body(json!({})),
        operation("GET /api/chats", listing),
        operation("GET /api/search", listing).path("/api/search?q=hello"),
        operation("GET /api/chats/{id}", of_owner(200)),
        operation("PATCH /api/chats/{id}", of_owner(200)).body(json!({"title": "t"})),
        operation("DELETE /api/chats/{id}", of_owner(204)),
        operation("POST /api/chats/{id}/messages", of_owner(200)).body(json!({"content": "hello"})),
        operation("GET /api/chats/{id}/stream", of_owner(204)),
        operation("POST /api/chats/{id}/stop", of_owner(204)),
        // An id is a name of the caller's: others create a chat of their own.
        operation("POST /api/chat", of_caller(200)).body(json!({
            "id": "{id}",
            "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}],
        })),
        operation("GET /api/chat/{id}/stream", of_owner(204)),
        operation("POST /api/chat/{id}/stop", of_owner(204)),
        // A caller that does not own the session gets a turn without a session.
        operation("POST /v1/chat", of_caller(200)).body(json!({"message": "hello", "session_id": "{id}"})),
        operation("POST /v1/chat/sessions", of_caller(201)),
        operation("GET /v1/chat/sessions", listing),
        operation("GET /v1/chat/sessions/{id}/messages", of_owner(200)),
        operation("POST /api/chats/{id}/fork", of_owner(201)).body(json!({})),
        operation("GET /api/chats/{id}/events", of_owner(200)),
        operation("GET /api/chats/{id}/export", of_owner(200)),
        operation("POST /api/sessions", of_key).body(json!({})),
        operation("POST /api/sessions/claim", of_user(200)).body(json!({"sessionId": "{session}"})),
        operation("POST /api/sessions/release", of_user(404)).body(json!({"chatId": "{id}", "sessionId": "{session}"})),
        operation("POST /v1/conversations", of_service(201)).body(json!({"agentId": "{agent}", "userId": "ada"})),
        operation("GET /v1/search", of_service(200)).path("/v1/search?q=hello"),
        operation("GET /v1/conversations/{id}", of_service(200)),
        operation("PATCH /v1/conversations/{id}", of_service(200)).body(json!({"title": "t"})),
        operation("POST /v1/conversations/{id}/events", of_service(200))
            .body(json!({"messages": [{"role": "user", "content": "hello"}]})),
        operation("GET /v1/conversations/{id}/events", of_service(200)),
        operation("GET /v1/conversations/{id}/events/stream", of_service(200)),
        operation("GET /v1/conversations/{id}/context", of_service(200))
            .path("/v1/conversations/{id}/context?format=anthropic"),
        // The token is bound to no agent; `v1/histories/access.rs` tests tokens of agents.
        operation("GET /v1/histories/{key}", of_service(400)),
        operation("POST /v1/histories/{key}/load", of_service(400)).body(json!({"messages": []})),
        operation("POST /v1/histories/{key}/messages", of_service(400))
            .body(json!({"messages": [{"role": "user", "content": "hello"}]})),
        operation("GET /openai/v1/models", of_service(200)),
        operation("GET /openai/v1/models/{id}", of_service(200)).path("/openai/v1/models/{agent}"),
        operation("POST /openai/v1/chat/completions", of_service(200)).body(json!({
            "model": "{agent}",
            "messages": [{"role": "user", "content": "hello"}],
        })),
    ];
    operations.extend(of_documents());
    operations
}

/// The operations of administrators. The chat belongs to another tenant than theirs.
fn of_administrators() -> Vec<Operation> {
    let nothing_waits = [401, 401, 401, 401, 401, 401, 401, 401, 401, 409, 404, 401];
    let no_log = [401, 401, 401, 401, 401, 401, 401, 401, 401, 404, 404, 401];
    vec![
        operation("GET /v1/admin/conversations", of_admin(200)),
        operation("GET /v1/admin/conversations/{id}", of_admin(404)),
        operation("GET /v1/admin/conversations/{id}/events", of_admin(404)),
        operation("GET /v1/admin/conversations/{id}/events/stream", of_admin(404)),
        operation("GET /v1/admin/conversations/{id}/export", of_admin(404)),
        // No call needs an approval here; `turns/approvals.rs` tests approvals.
        operation("POST /v1/admin/conversations/{id}/approvals", nothing_waits).body(json!({
            "approvals": [{"toolCallId": "c", "approved": true}],
        })),
        operation("GET /v1/admin/search", of_admin(200)).path("/v1/admin/search?q=hello"),
        operation("GET /v1/admin/usage", of_admin(200)).path("/v1/admin/usage?from=2026-11-01&to=2026-11-30"),
        operation("GET /v1/admin/provider-logs", of_admin(200)),
        // No call is logged here; `provider_logs.rs` tests logged calls.
        operation("GET /v1/admin/provider-logs/{id}", no_log),
    ]
}

/// OpenAI's Conversations API. The token is bound to no agent, and lacks the scope `erase`.
/// The requests name no end user, and the conversation is of a session.
fn openai_conversations() -> Vec<Operation> {
    vec![
        operation("POST /openai/v1/conversations", of_service(400)).body(json!({})),
        operation("GET /openai/v1/conversations/{id}", of_service(404)),
        operation("POST /openai/v1/conversations/{id}", of_service(404)).body(json!({"metadata": {}})),
        operation("DELETE /openai/v1/conversations/{id}", of_service(403)),
        operation("GET /openai/v1/conversations/{id}/items", of_service(404)),
        operation("POST /openai/v1/conversations/{id}/items", of_service(404))
            .body(json!({"items": [{"role": "user", "content": "hello"}]})),
        operation("GET /openai/v1/conversations/{id}/items/{item_id}", of_service(404)),
        operation("DELETE /openai/v1/conversations/{id}/items/{item_id}", of_service(404)),
    ]
}

/// OpenAI's Responses API. No response has the id of the chat; `openai/responses` tests those that exist.
fn openai_responses() -> Vec<Operation> {
    vec![
        operation("POST /openai/v1/responses", of_service(200)).body(json!({"model": "{agent}", "input": "hello"})),
        operation("GET /openai/v1/responses/{id}", of_service(404)),
        operation("DELETE /openai/v1/responses/{id}", of_service(404)),
        operation("POST /openai/v1/responses/{id}/cancel", of_service(404)).body(json!({})),
        operation("GET /openai/v1/responses/{id}/input_items", of_service(404)),
    ]
}

fn operations() -> Vec<Operation> {
    let mut operations = matrix();
    operations.extend(openai_responses());
    operations.extend(of_administrators());
    operations.extend(openai_conversations());
    operations
}

fn served_operations(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    operations.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_in_the_matrix() {
    let fixture = Fixture::new().await;
    let document = fixture.stack.http_client().get("/openapi.json").await.json();
    let known: BTreeSet<String> = operations().iter().map(|one| one.name.to_owned()).collect();
    assert_eq!(served_operations(&document), known);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_gets_the_status_of_the_matrix() {
    let fixture = Fixture::new().await;
    let owner = fixture.session(SESSION);
    let issued = fixture.issued_session().await;
    let callers = callers(&fixture).await;
    let mut wrong = Vec::new();
    for operation in operations() {
        let statuses = CALLERS.iter().zip(operation.statuses);
        for ((caller, expected), client) in statuses.zip(&callers) {
            // A new conversation for each caller, because some operations change it.
            let chat = begin(&owner, &json!({})).await;
            let status = operation.request_status(client, &chat, issued.session_id(), fixture.agent_id).await;
            if status != expected {
                let name = operation.name;
                wrong.push(format!("{name} by {caller}: {status}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
