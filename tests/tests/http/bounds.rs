//! Bounds, each at its edge and one past it.

use std::time::{Duration, Instant};

use http_listener::config::RateLimit;
use runtime::config::Secret;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::Answer;
use tests::settings::Role;
use uuid::Uuid;
use wire::proto::operate::v1::Scope;

use crate::fixture::{Fixture, bearer, begin, text};

#[tokio::test(flavor = "multi_thread")]
async fn oversized_fields_are_rejected_by_name() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let check = async |(method, path): (&str, &str), body: Value, expected: (u16, &str)| {
        let path = path.replace("{id}", &chat);
        let answer = session.send(method, &path, Some(&body)).await;
        let error = answer.json();
        let field = error["field"].as_str().unwrap_or_default();
        assert_eq!((answer.status, field), expected, "{method} {path}");
        if !field.is_empty() {
            assert!(text(&error, "detail").contains(field), "{error}");
        }
    };
    let create = ("POST", "/api/chats");
    let change = ("PATCH", "/api/chats/{id}");
    let fork = ("POST", "/api/chats/{id}/fork");
    let title = |bytes: usize| json!({"title": "x".repeat(bytes)});
    let metadata = |bytes: usize| json!({"metadata": {"k": "x".repeat(bytes - 8)}});
    for (operation, ok) in [(create, 201), (change, 200), (fork, 201)] {
        check(operation, title(1_024), (ok, "")).await;
        check(operation, title(1_025), (400, "title")).await;
        check(operation, metadata(64 * 1_024), (ok, "")).await;
        check(operation, metadata(64 * 1_024 + 1), (400, "metadata")).await;
        check(operation, json!({"metadata": [1]}), (400, "metadata")).await;
    }
    let context = |bytes: usize| json!({"context": {"pageUrl": "x".repeat(bytes)}});
    check(create, context(4_096), (201, "")).await;
    check(create, context(4_097), (400, "context.pageUrl")).await;
    check(create, json!({"id": "i".repeat(100)}), (201, "")).await;
    check(create, json!({"id": "i".repeat(101)}), (400, "id")).await;
    check(create, json!({"id": "i".repeat(129)}), (400, "id")).await;
    check(create, json!({"id": "a b"}), (400, "id")).await;
    for reserved in ["history:x", "document:x", "named:x"] {
        check(create, json!({"id": reserved}), (400, "id")).await;
    }
    check(create, json!({"sessionId": "t"}), (400, "sessionId")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_sizes_are_bounded() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    for (limit, status) in [(0, 200), (1, 200), (200, 200), (201, 400)] {
        let path = format!("/api/chats/{chat}?limit={limit}");
        assert_eq!(session.get(&path).await.status, status, "{limit}");
    }
    for (before, messages) in [("0", 0), ("1", 0), ("2", 0), ("18446744073709551615", 0)] {
        let page = session.get(&format!("/api/chats/{chat}?before={before}")).await.ok(200);
        assert_eq!(page["messages"].as_array().unwrap().len(), messages, "{before}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_names_are_bounded() {
    let fixture = Fixture::new().await;
    for (length, status) in [(1, 201), (256, 201), (257, 400)] {
        let session = fixture.session(&"s".repeat(length));
        assert_eq!(session.post("/api/chats", &json!({})).await.status, status, "{length}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_rate_limited() {
    let few = RateLimit { per_second: 1, burst: 3 };
    let fixture = Fixture::with(|config| config.http.limits.session = few).await;
    // A slow machine sends the four requests in more than the second after which another one is admitted: then another session
    // sends them.
    let attempt = eventually("four requests of a session within a second", || async {
        let id = Uuid::now_v7().to_string();
        let session = fixture.session(&id);
        let started = Instant::now();
        let mut statuses = Vec::new();
        for _ in 0..3 {
            statuses.push(session.get("/api/chats").await.status);
        }
        // A session id in the body names the same session.
        let body = json!({"sessionId": id});
        let refused = fixture.frontend().post("/api/chats", &body).await;
        (started.elapsed() < Duration::from_secs(1)).then_some((statuses, refused))
    });
    let (statuses, refused) = attempt.await;
    assert_eq!(statuses, [200; 3]);
    assert_eq!(refused.status_and_code(), (429, "RATE_LIMITED".to_owned()));
    assert_eq!(refused.headers["retry-after"], "1");
    let other = fixture.session("t");
    assert_eq!(other.get("/api/chats").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_back_ends_count_for_their_keys() {
    let limit = |burst| RateLimit { per_second: 1, burst };
    let fixture = Fixture::with(|config| {
        // The fixture's own requests count for the address too, until all is set up.
        config.http.limits.address = limit(40);
        config.http.limits.key = limit(60);
    })
    .await;
    let agents = [fixture.agent_id];
    let key = || fixture.operator.secret_key(&[Scope::Read], &agents);
    let (one, two) = (key().await, key().await);
    let (one, two) = (&one.secret, &two.secret);
    let [one, two, bad] = [one, two, "hsk_unknown"].map(|key| bearer(&fixture.stack, key));
    let path = "/v1/conversations/none";
    let limited = |answer: &Answer| answer.status == 429;
    // The gateway knows the keys, and does not count their requests for the address.
    for client in [&one, &two] {
        eventually("a key with a limit of its own", || async {
            let answer = client.get(path).await;
            (answer.headers["ratelimit-limit"] == "60").then_some(())
        })
        .await;
    }
    // Guesses count for the address. It may send its burst, and one more in each second.
    let (started, mut guesses) = (Instant::now(), 0);
    let refused = loop {
        let answer = bad.get(path).await;
        if limited(&answer) {
            break answer;
        }
        assert_eq!(answer.status, 401);
        guesses += 1;
        let guesses_max = 41 + started.elapsed().as_secs();
        assert!(guesses <= guesses_max, "more guesses than the address may send");
    };
    assert_eq!(refused.json()["metadata"]["limit"], "address");
    // The keys still have their own limits: all of the burst, and not one more.
    let left = |answer: &Answer| -> u32 { answer.headers["ratelimit-remaining"].parse().unwrap() };
    let answer = one.get(path).await;
    assert_eq!(answer.status, 404);
    let mut remaining = left(&answer);
    let refused = loop {
        let answer = one.get(path).await;
        if limited(&answer) {
            assert_eq!(remaining, 0);
            break answer;
        }
        remaining = left(&answer);
    };
    assert_eq!(refused.json()["metadata"]["limit"], "key");
    assert_eq!(refused.headers["retry-after"], "1");
    // One key does not starve another on the same address.
    assert_eq!(two.get(path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_without_the_append_scope_still_read() {
    let fixture = Fixture::own().await;
    let mut gateway = fixture.stack.another(Role::Gateway);
    gateway.settings.gateway.writer_token = Secret::new("hs_wrong");
    gateway.launch().await;
    let session = fixture.session("s").with_addr(gateway.settings.gateway.http.server.addr);
    let refused = session.post("/api/chats", &json!({})).await;
    assert_eq!(refused.status_and_code(), (503, "WRITER_UNAVAILABLE".to_owned()));
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(session.get("/api/chats").await.status, 200);
}
