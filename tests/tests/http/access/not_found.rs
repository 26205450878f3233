//! What is not the caller's and what is not there are told alike, byte for byte.

use serde_json::{Value, json};
use tests::door::Door;

use crate::ground::{Ground, begin};

async fn check(
    door: &Door,
    chats: &[(&str, String)],
    suffix: &str,
    (method, body): (&str, Option<Value>),
) {
    let mut told = Vec::new();
    for (what, chat) in chats {
        let path = format!("/api/chats/{chat}{suffix}");
        let answer = door.send(method, &path, body.as_ref()).await;
        assert_eq!(
            answer.told(),
            (404, "CONVERSATION_NOT_FOUND".to_owned()),
            "{what}"
        );
        told.push(answer.body);
    }
    assert!(
        told.windows(2).all(|pair| pair[0] == pair[1]),
        "{method} {suffix}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_tells_why_there_is_no_conversation() {
    let ground = Ground::new().await;
    let door = ground.stack.door();
    let session = ground.session("mine");
    let erased = begin(&session, &json!({})).await;
    session
        .delete(&format!("/api/chats/{erased}"))
        .await
        .ok(204);
    let other_agent = door.with("x-api-key", &ground.other_key.secret);
    let foreign = door.with("x-api-key", &ground.foreign_key.secret);
    let chats = [
        ("missing", "nothing-here".to_owned()),
        ("no id", "%20".to_owned()),
        ("too long an id", "x".repeat(129)),
        ("erased", erased),
        (
            "another session's",
            begin(&ground.session("theirs"), &json!({})).await,
        ),
        (
            "a user's of the same name",
            begin(&ground.frontend().with("x-user-id", "mine"), &json!({})).await,
        ),
        (
            "another agent's",
            begin(&other_agent.with("x-session-id", "mine"), &json!({})).await,
        ),
        (
            "another tenant's",
            begin(&foreign.with("x-session-id", "mine"), &json!({})).await,
        ),
    ];
    check(&session, &chats, "", ("GET", None)).await;
    check(&session, &chats, "", ("PATCH", Some(json!({"title": "t"})))).await;
    check(&session, &chats, "", ("DELETE", None)).await;
    check(&session, &chats, "/fork", ("POST", Some(json!({})))).await;
    check(&session, &chats, "/export", ("GET", None)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn administrators_see_their_tenant_alone() {
    let ground = Ground::new().await;
    let foreign = ground
        .stack
        .door()
        .with("x-api-key", &ground.foreign_key.secret);
    let foreign = begin(&foreign.with("x-session-id", "s"), &json!({})).await;
    let admin = ground.admin();
    for suffix in ["", "/events"] {
        let path = format!("/v1/admin/conversations/{foreign}{suffix}");
        let theirs = admin.get(&path).await;
        let missing = format!("/v1/admin/conversations/missing{suffix}");
        let missing = admin.get(&missing).await;
        assert_eq!(theirs.told(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
        assert_eq!(theirs.body, missing.body);
        ground.foreign_admin().get(&path).await.ok(200);
    }
}
