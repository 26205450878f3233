//! Revoked sessions: neither renewed nor claimed, and their open streams are not resumed.

use identity::{SESSION_LIFETIME, SessionError};
use serde_json::json;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use wire::proto::operate::v1::RevokeSessionRequest;

use super::issue::{PAGE, cookie_of, issued_before, page};
use crate::fixture::{Fixture, begin, text};
use crate::turns::sse::EventStream;

/// Revokes the session that owns a chat, and waits until the gateway knows it.
async fn revoke(fixture: &Fixture, session: &HttpClient, chat: &str) {
    let path = format!("/api/chats/{chat}");
    let shown = session.get(&path).await.ok(200);
    let session_id = shown["owner"]["sessionId"].as_str().unwrap().to_owned();
    let request = RevokeSessionRequest { tenant_id: fixture.tenant.to_owned(), session_id };
    fixture.operator.registry().revoke_session(request).await.unwrap();
    eventually("the end of the session", || async { (session.get(&path).await.status == 401).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_sessions_are_not_renewed() {
    let fixture = Fixture::own().await;
    let old = fixture.session(&issued_before(&fixture, SESSION_LIFETIME.as_secs() - 60).await);
    let begun = old.post("/api/chats", &json!({})).await;
    let chat = text(&begun.ok(201), "id").to_owned();
    let renewed = fixture.session(&begun.headers["x-session-id"]);
    revoke(&fixture, &old, &chat).await;
    for session in [&old, &renewed] {
        let answer = session.get("/api/chats").await;
        assert_eq!(answer.status_and_code(), (401, "SESSION_INVALID".to_owned()));
        assert!(answer.text().contains(&SessionError::Revoked.to_string()), "{}", answer.text());
        assert_eq!(answer.headers.get("x-session-id"), None);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_sessions_in_cookies_are_ignored() {
    let fixture = Fixture::own().await;
    let page = page(&fixture).await;
    let issued = page.post("/api/sessions", &json!({"transport": "cookie"})).await;
    let session = page.with("cookie", &cookie_of(&issued));
    let chat = begin(&session, &json!({})).await;
    revoke(&fixture, &session, &chat).await;
    let answer = session.get("/api/chats").await;
    assert_eq!(answer.status_and_code(), (401, "SESSION_REQUIRED".to_owned()), "{PAGE}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_of_revoked_sessions_end() {
    let fixture = Fixture::with(|config| config.http.live.age_max_ms = 1_000).await;
    let session = fixture.issued_session().await;
    let chat = begin(&session, &json!({})).await;
    let path = format!("/api/chats/{chat}/events");
    let mut stream = EventStream::open(session.request(reqwest::Method::GET, &path)).await;
    assert_eq!(stream.status, 200);
    revoke(&fixture, &session, &chat).await;
    let last = stream.rest().await.pop().unwrap();
    assert!(last.data.contains("\"STREAM_TOO_OLD\""), "{last:?}");
    let resumed = session.with("last-event-id", "1").get(&path).await;
    assert_eq!(resumed.status_and_code(), (401, "SESSION_INVALID".to_owned()));
}
