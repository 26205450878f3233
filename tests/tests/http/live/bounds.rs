//! Bounds of live streams, and what a request may name.

use futures::StreamExt as _;
use reqwest::Method;
use serde_json::json;
use tests::events::user;
use tests::eventually::{eventually, within};
use tests::http_client::HttpClient;
use wire::proto::operate::v1::Scope;

use super::{recorded_to, versions, watch_chat};
use crate::fixture::{Fixture, bearer, begin};

async fn refused(client: &HttpClient, path: &str, expected: (u16, &str, &str)) {
    let answer = client.get(path).await;
    let problem = answer.json();
    let field = problem["field"].as_str().unwrap_or_default();
    let (status, code) = answer.status_and_code();
    assert_eq!((status, code.as_str(), field), expected, "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_start_after_an_event_that_exists() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    fixture.agent.append(&chat, vec![user("x")]).await;
    let path = format!("/api/chats/{chat}/events");
    let malformed = (400, "FIELD_MALFORMED", "last-event-id");
    for id in ["x", "-1", "1:2", "18446744073709551616"] {
        refused(&session.with("last-event-id", id), &path, malformed).await;
    }
    let after = (400, "FIELD_OUT_OF_RANGE", "after");
    refused(&session, &format!("{path}?after=3"), after).await;
    let last = (400, "FIELD_OUT_OF_RANGE", "last-event-id");
    refused(&session.with("last-event-id", "3"), &path, last).await;
    let largest = format!("{path}?after={}", u64::MAX);
    refused(&session, &largest, after).await;
    // The newest event is the edge: the stream continues with the next one.
    let mut stream = watch_chat(&session, &chat, 2).await;
    fixture.agent.append(&chat, vec![user("y")]).await;
    assert_eq!(versions(&recorded_to(&mut stream, 3).await), [3]);
    // An empty header is none.
    let mut stream = watch_chat(&session.with("last-event-id", ""), &chat, 1).await;
    assert_eq!(versions(&recorded_to(&mut stream, 3).await), [2, 3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_a_bounded_number_of_streams() {
    let fixture = Fixture::with(|config| config.http.live.per_address_max = 2).await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let first = watch_chat(&session, &chat, 0).await;
    let _second = watch_chat(&session, &chat, 0).await;
    let path = format!("/api/chats/{chat}/events");
    refused(&session, &path, (429, "TOO_MANY_STREAMS", "")).await;
    let other = format!("/v1/admin/conversations/{chat}/events/stream");
    refused(&fixture.admin(), &other, (429, "TOO_MANY_STREAMS", "")).await;
    drop(first);
    eventually("a free place", || async {
        let request = session.request(Method::GET, &path);
        let answer = within("a stream", request.send()).await.unwrap();
        (answer.status().as_u16() == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limits_name_the_bounds_of_streams() {
    let fixture = Fixture::with(|config| {
        config.watchers_max = 7;
        config.http.live.per_address_max = 3;
        config.http.live.age_max_ms = 60_000;
        config.http.live.heartbeat_ms = 2_000;
        config.http.live.pause_max_ms = 1_500;
    })
    .await;
    let limits = fixture.frontend().get("/v1/limits").await.ok(200);
    let expected = json!({
        "per_address_max": 3,
        "per_gateway_max": 7,
        "age_max_ms": 60_000,
        "heartbeat_ms": 2_000,
        "pause_max_ms": 1_500,
    });
    assert_eq!(limits["live_streams"], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_has_a_bounded_number_of_watchers() {
    let fixture = Fixture::with(|config| config.watchers_max = 1).await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let _only = watch_chat(&session, &chat, 0).await;
    let path = format!("/api/chats/{chat}/events");
    refused(&session, &path, (503, "OVERLOADED", "")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_streams_get_heartbeats() {
    let fixture = Fixture::with(|config| config.http.live.heartbeat_ms = 100).await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let path = format!("/api/chats/{chat}/events?after=1");
    let request = session.request(Method::GET, &path);
    let answer = within("a stream", request.send()).await.unwrap();
    let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
    assert_eq!(header("content-type"), "text/event-stream");
    assert_eq!(header("cache-control"), "no-cache, no-store");
    let mut body = answer.bytes_stream();
    let mut text = String::new();
    while text.matches(": kept alive\n\n").count() < 3 {
        let bytes = within("a heartbeat", body.next()).await.unwrap().unwrap();
        text.push_str(std::str::from_utf8(&bytes).unwrap());
    }
    assert!(text.starts_with("retry: 1000\n\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_cannot_use_the_token_of_a_back_end() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let token = fixture.operator.token(&[Scope::Read], fixture.tenant).await;
    let page = bearer(&fixture.stack, &token.secret).with("origin", "https://evil.example");
    let path = format!("/v1/conversations/{chat}/events/stream");
    refused(&page, &path, (403, "ORIGIN_NOT_ALLOWED", "")).await;
    let path = format!("/api/chats/{chat}/events?sessionId=s");
    let named = session.get(&path).await;
    assert_eq!(named.status_and_code(), (400, "IDENTITY_IN_QUERY".to_owned()));
}
