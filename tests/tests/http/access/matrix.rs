//! The matrix: every operation, every caller, one status. An operation that is served and not in it fails the test, and
//! so does one that is in it and not served.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tests::door::Door;

use super::callers::{CALLERS, SESSION, callers};
use crate::ground::{AGENT, Ground, begin};

/// The status for each caller, in the order of [`CALLERS`].
type Statuses = [u16; 12];

/// What anybody may ask.
const PUBLIC: Statuses = [200; 12];

/// What is asked for a conversation of the session's, where it goes well with `ok`.
const fn of_owner(ok: u16) -> Statuses {
    [401, ok, 404, 404, 401, 401, 404, 404, 401, 401, 401, 401]
}

/// What is asked for by the caller's own name, where it goes well with `ok`.
const fn of_caller(ok: u16) -> Statuses {
    [401, ok, ok, ok, 401, 401, ok, ok, 401, 401, 401, 401]
}

/// What only a user with a token may ask, who gets `user`.
const fn of_user(user: u16) -> Statuses {
    [401, 401, 401, 401, 401, 401, user, 401, 401, 401, 401, 401]
}

/// What only administrators may ask; those of another tenant get `foreign`.
const fn of_admin(foreign: u16) -> Statuses {
    [
        401, 401, 401, 401, 401, 401, 401, 401, 401, 200, foreign, 401,
    ]
}

/// What only services may ask, where it goes well with `ok`.
const fn of_service(ok: u16) -> Statuses {
    [401, 401, 401, 401, 401, 401, 401, 401, 401, 401, 401, ok]
}

/// One operation: its name in the description, what is sent, and the statuses. `{id}` is a conversation of the session's,
/// `{session}` a session that was issued.
struct Operation {
    name: &'static str,
    path: &'static str,
    body: Option<Value>,
    statuses: Statuses,
}

fn operation(name: &'static str, statuses: Statuses) -> Operation {
    let path = name.split_once(' ').unwrap().1;
    Operation {
        name,
        path,
        body: None,
        statuses,
    }
}

impl Operation {
    fn path(self, path: &'static str) -> Self {
        Self { path, ..self }
    }

    fn body(self, body: Value) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    async fn ask(&self, door: &Door, chat: &str, session: &str) -> u16 {
        let method = self.name.split_once(' ').unwrap().0;
        let in_body = |body: &Value| {
            let body = body.to_string().replace("{id}", chat);
            body.replace("{session}", session).parse().unwrap()
        };
        let body: Option<Value> = self.body.as_ref().map(in_body);
        let path = self.path.replace("{id}", chat);
        door.send(method, &path, body.as_ref()).await.status
    }
}

fn matrix() -> Vec<Operation> {
    // A session and a user by name list what is theirs; a name without a token lists nothing.
    let listing = [401, 200, 200, 401, 401, 401, 200, 200, 401, 401, 401, 401];
    // An id is a name in its tenant: another tenant's key begins a chat of its own.
    let named_chat = [401, 200, 404, 404, 401, 401, 404, 200, 401, 401, 401, 401];
    let nothing_waits = [401, 401, 401, 401, 401, 401, 401, 401, 401, 409, 404, 401];
    // Whoever has the key may have a session.
    let of_key = [401, 201, 201, 201, 201, 201, 201, 201, 401, 401, 401, 401];
    let no_log = [401, 401, 401, 401, 401, 401, 401, 401, 401, 404, 404, 401];
    vec![
        operation("GET /healthz", PUBLIC),
        operation("GET /v1/limits", PUBLIC),
        operation("POST /api/chats", of_caller(201)).body(json!({})),
        operation("GET /api/chats", listing),
        operation("GET /api/chats/{id}", of_owner(200)),
        operation("PATCH /api/chats/{id}", of_owner(200)).body(json!({"title": "t"})),
        operation("DELETE /api/chats/{id}", of_owner(204)),
        operation("POST /api/chats/{id}/messages", of_owner(200)).body(json!({"content": "hello"})),
        operation("GET /api/chats/{id}/stream", of_owner(204)),
        operation("POST /api/chats/{id}/stop", of_owner(204)),
        operation("POST /api/chat", named_chat).body(json!({
            "id": "{id}",
            "messages": [{"id": "m", "role": "user", "parts": [{"type": "text", "text": "hello"}]}],
        })),
        operation("GET /api/chat/{id}/stream", of_owner(204)),
        operation("POST /api/chat/{id}/stop", of_owner(204)),
        // Who does not own the session gets a turn alone.
        operation("POST /v1/chat", of_caller(200))
            .body(json!({"message": "hello", "session_id": "{id}"})),
        operation("POST /v1/chat/sessions", of_caller(201)),
        operation("GET /v1/chat/sessions", listing),
        operation("GET /v1/chat/sessions/{id}/messages", of_owner(200)),
        operation("POST /api/chats/{id}/fork", of_owner(201)).body(json!({})),
        operation("GET /api/chats/{id}/export", of_owner(200)),
        operation("POST /api/sessions", of_key).body(json!({})),
        operation("POST /api/sessions/claim", of_user(200)).body(json!({"sessionId": "{session}"})),
        operation("POST /api/sessions/release", of_user(404))
            .body(json!({"chatId": "{id}", "sessionId": "{session}"})),
        operation("POST /v1/conversations", of_service(201))
            .body(json!({"agentId": AGENT, "userId": "ada"})),
        operation("GET /v1/conversations/{id}", of_service(200)),
        operation("PATCH /v1/conversations/{id}", of_service(200)).body(json!({"title": "t"})),
        operation("POST /v1/conversations/{id}/events", of_service(200))
            .body(json!({"messages": [{"role": "user", "content": "hello"}]})),
        operation("GET /v1/conversations/{id}/events", of_service(200)),
        operation("GET /v1/conversations/{id}/context", of_service(200))
            .path("/v1/conversations/{id}/context?format=anthropic"),
        operation("GET /v1/admin/conversations", of_admin(200)),
        operation("GET /v1/admin/conversations/{id}", of_admin(404)),
        operation("GET /v1/admin/conversations/{id}/events", of_admin(404)),
        // Nothing waits for an approval: for whom something does, `talk/approvals.rs` shows.
        operation("POST /v1/admin/conversations/{id}/approvals", nothing_waits).body(json!({
            "approvals": [{"toolCallId": "c", "approved": true}],
        })),
        operation("GET /v1/admin/usage", of_admin(200))
            .path("/v1/admin/usage?from=2026-11-01&to=2026-11-30"),
        operation("GET /v1/admin/provider-logs", of_admin(200)),
        // None is logged: for whom there is one, `provider_logs.rs` shows.
        operation("GET /v1/admin/provider-logs/{id}", no_log),
    ]
}

fn served(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(move |method| format!("{} {path}", method.to_uppercase()))
    });
    operations.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_in_the_matrix() {
    let ground = Ground::new().await;
    let document = ground.stack.door().get("/openapi.json").await.json();
    let known: BTreeSet<String> = matrix().iter().map(|one| one.name.to_owned()).collect();
    assert_eq!(served(&document), known);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_caller_gets_the_status_of_the_matrix() {
    let ground = Ground::new().await;
    let owner = ground.session(SESSION);
    let issued = ground.issued().await;
    let callers = callers(&ground).await;
    let mut wrong = Vec::new();
    for operation in matrix() {
        let statuses = CALLERS.iter().zip(operation.statuses);
        for ((caller, expected), door) in statuses.zip(&callers) {
            // A new one each time, since some operations change it.
            let chat = begin(&owner, &json!({})).await;
            let status = operation.ask(door, &chat, issued.shown_session()).await;
            if status != expected {
                let name = operation.name;
                wrong.push(format!("{name} by {caller}: {status}, expected {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
