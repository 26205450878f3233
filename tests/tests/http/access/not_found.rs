//! Foreign and missing conversations get the same answer, byte for byte.

use reqwest::Method;
use serde_json::{Value, json};
use tests::eventually::within;
use tests::http_client::HttpClient;

use crate::fixture::{Fixture, begin};

async fn check(client: &HttpClient, chats: &[(&str, String)], suffix: &str, (method, body): (&str, Option<Value>)) {
    let mut bodies = Vec::new();
    for (what, chat) in chats {
        let path = format!("/api/chats/{chat}{suffix}");
        let answer = client.send(method, &path, body.as_ref()).await;
        assert_eq!(answer.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()), "{what}");
        bodies.push(answer.body);
    }
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "{method} {suffix}");
}

#[tokio::test(flavor = "multi_thread")]
async fn not_found_answers_are_identical() {
    let fixture = Fixture::new().await;
    let client = fixture.stack.http_client();
    let session = fixture.session("mine");
    let erased = begin(&session, &json!({})).await;
    session.erase(&format!("/api/chats/{erased}")).await;
    let other_agent = client.with("x-api-key", &fixture.other_key.secret);
    let foreign = client.with("x-api-key", &fixture.foreign_key.secret);
    let chats = [
        ("missing", "nothing-here".to_owned()),
        ("no id", "%20".to_owned()),
        ("too long an id", "x".repeat(129)),
        ("erased", erased),
        ("another session's", begin(&fixture.session("theirs"), &json!({})).await),
        ("a user's of the same name", begin(&fixture.frontend().with("x-user-id", "mine"), &json!({})).await),
        ("another agent's", begin(&other_agent.with("x-session-id", "mine"), &json!({})).await),
        ("another tenant's", begin(&foreign.with("x-session-id", "mine"), &json!({})).await),
    ];
    check(&session, &chats, "", ("GET", None)).await;
    check(&session, &chats, "", ("PATCH", Some(json!({"title": "t"})))).await;
    check(&session, &chats, "", ("DELETE", None)).await;
    check(&session, &chats, "/fork", ("POST", Some(json!({})))).await;
    check(&session, &chats, "/export", ("GET", None)).await;
    check(&session, &chats, "/events", ("GET", None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_only_their_tenant() {
    let fixture = Fixture::new().await;
    let foreign = fixture.stack.http_client().with("x-api-key", &fixture.foreign_key.secret);
    let foreign = begin(&foreign.with("x-session-id", "s"), &json!({})).await;
    let admin = fixture.admin();
    for suffix in ["", "/events", "/export", "/events/stream"] {
        let path = format!("/v1/admin/conversations/{foreign}{suffix}");
        let theirs = admin.get(&path).await;
        let missing = admin.get(&format!("/v1/admin/conversations/missing{suffix}")).await;
        assert_eq!(theirs.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
        assert_eq!(theirs.body, missing.body);
        let request = fixture.foreign_admin().request(Method::GET, &path);
        let own = within(suffix, request.send()).await.unwrap();
        assert_eq!(own.status().as_u16(), 200, "{suffix}");
    }
}
