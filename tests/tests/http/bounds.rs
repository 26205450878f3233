//! Bounds, each at its edge and one past it.

use gateway::http::config::RateLimit;
use runtime::config::Secret;
use serde_json::{Value, json};

use crate::fixture::{Fixture, begin, text};

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
    check(create, json!({"id": "i".repeat(128)}), (201, "")).await;
    check(create, json!({"id": "i".repeat(129)}), (400, "id")).await;
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
        let page = session
            .get(&format!("/api/chats/{chat}?before={before}"))
            .await
            .ok(200);
        assert_eq!(
            page["messages"].as_array().unwrap().len(),
            messages,
            "{before}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn session_names_are_bounded() {
    let fixture = Fixture::new().await;
    for (length, status) in [(1, 201), (256, 201), (257, 400)] {
        let session = fixture.session(&"s".repeat(length));
        assert_eq!(
            session.post("/api/chats", &json!({})).await.status,
            status,
            "{length}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_rate_limited() {
    let few = RateLimit {
        per_second: 1,
        burst: 3,
    };
    let fixture = Fixture::with(|config| config.http.limits.session = few).await;
    let session = fixture.session("s");
    for _ in 0..3 {
        assert_eq!(session.get("/api/chats").await.status, 200);
    }
    // A session id in the body names the same session.
    let body = json!({"sessionId": "s"});
    let refused = fixture.frontend().post("/api/chats", &body).await;
    assert_eq!(refused.status_and_code(), (429, "RATE_LIMITED".to_owned()));
    assert_eq!(refused.headers["retry-after"], "1");
    assert_eq!(fixture.session("t").get("/api/chats").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn gateways_without_the_append_scope_still_read() {
    let fixture = Fixture::with(|config| config.writer_token = Secret::new("hs_wrong")).await;
    let session = fixture.session("s");
    let refused = session.post("/api/chats", &json!({})).await;
    assert_eq!(
        refused.status_and_code(),
        (503, "WRITER_UNAVAILABLE".to_owned())
    );
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(session.get("/api/chats").await.status, 200);
}
