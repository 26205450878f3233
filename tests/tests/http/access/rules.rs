//! The identities of callers in each identity mode.

use serde_json::json;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt;
use wire::proto::operate::v1::IdentityMode;

use crate::fixture::{Fixture, begin, text};

/// The owner of new conversations of each kind of caller, or the error code.
async fn check(fixture: &Fixture, mode: IdentityMode, expected: [&str; 6]) {
    fixture.identity_mode(fixture.agent_id, mode).await;
    let frontend = fixture.frontend();
    let token = jwt::user(&fixture.user_secret, "ada");
    let both = fixture.issued_session().await;
    let callers: [(&str, HttpClient); 6] = [
        ("nobody", frontend.clone()),
        ("session", both.clone()),
        ("chosen session", fixture.session("s")),
        ("name", both.with("x-user-id", "ada")),
        ("token", both.with("x-user-token", &token)),
        ("token of another", both.with("x-user-token", &token).with("x-user-id", "bob")),
    ];
    for ((caller, client), expected) in callers.into_iter().zip(expected) {
        // The gateway applies the settings shortly after the writer.
        eventually(&format!("{mode:?}: {caller} is {expected}"), || async {
            (owner_of_new_chat(&client).await == expected).then_some(())
        })
        .await;
    }
}

async fn owner_of_new_chat(client: &HttpClient) -> String {
    let answer = client.post("/api/chats", &json!({})).await;
    if answer.status != 201 {
        return answer.status_and_code().1;
    }
    let id = text(&answer.json(), "id").to_owned();
    let chat = client.get(&format!("/api/chats/{id}")).await.ok(200);
    let owner = &chat["owner"];
    match owner["sessionId"].as_str() {
        Some(session) if session.starts_with("issued:") => "issued".to_owned(),
        _ => owner.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_identity_mode_determines_owners() {
    let fixture = Fixture::new().await;
    let session = r#"{"sessionId":"s"}"#;
    let ada = r#"{"userId":"ada"}"#;
    let (nobody, other) = ("SESSION_REQUIRED", "USER_MISMATCH");
    let (issued, chosen) = ("issued", "SESSION_INVALID");
    let alone = [nobody, issued, chosen, issued, issued, issued];
    check(&fixture, IdentityMode::Issued, alone).await;
    let trust = [nobody, issued, chosen, ada, ada, other];
    check(&fixture, IdentityMode::Trust, trust).await;
    let signed = [nobody, issued, chosen, "USER_TOKEN_REQUIRED", ada, other];
    check(&fixture, IdentityMode::Signed, signed).await;
    let open = [nobody, issued, session, ada, ada, other];
    check(&fixture, IdentityMode::Open, open).await;
    check(&fixture, IdentityMode::Unspecified, alone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn header_and_body_name_the_same_caller() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let check = async |path: &str, body: &str, expected: (u16, &str)| {
        let body = serde_json::from_str(body).unwrap();
        let (status, code) = session.post(path, &body).await.status_and_code();
        assert_eq!((status, code.as_str()), expected, "{path} {body}");
    };
    check("/api/chats", r#"{"sessionId": "s"}"#, (201, "")).await;
    check("/api/chats", r#"{"sessionId": "t"}"#, (400, "CALLER_AMBIGUOUS")).await;
    for path in ["/api/chats?sessionId=s", "/api/chats?userId=ada"] {
        check(path, "{}", (400, "IDENTITY_IN_QUERY")).await;
    }
    check("/api/chats", &json!({"agentId": fixture.agent_id}).to_string(), (201, "")).await;
    check("/api/chats", &json!({"agentId": fixture.other_agent_id}).to_string(), (404, "AGENT_NOT_FOUND")).await;
    check("/api/chats", r#"{"agentId": "none"}"#, (404, "AGENT_NOT_FOUND")).await;
    let bearer = fixture.stack.http_client().with("authorization", &format!("Bearer {}", fixture.key.secret));
    begin(&bearer.with("x-session-id", "s"), &json!({})).await;
}
