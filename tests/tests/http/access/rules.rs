//! What a caller says of themselves, under each of the agent's rules.

use serde_json::json;
use tests::door::Door;
use tests::eventually::eventually;
use tests::jwt;
use wire::proto::operate::v1::IdentityMode;

use crate::ground::{AGENT, Ground, begin, text};

/// Who owns what each kind of caller begins; a code where they may not.
async fn check(ground: &Ground, mode: IdentityMode, expected: [&str; 6]) {
    ground.identity_mode(AGENT, mode).await;
    let frontend = ground.frontend();
    let token = jwt::user(&ground.user_secret, "ada");
    let both = ground.issued().await;
    let callers: [(&str, Door); 6] = [
        ("nobody", frontend.clone()),
        ("session", both.clone()),
        ("chosen session", ground.session("s")),
        ("name", both.with("x-user-id", "ada")),
        ("token", both.with("x-user-token", &token)),
        (
            "token of another",
            both.with("x-user-token", &token).with("x-user-id", "bob"),
        ),
    ];
    for ((caller, door), expected) in callers.into_iter().zip(expected) {
        // The gateway hears of the rule a moment after the writer.
        eventually(&format!("{mode:?}: {caller} is {expected}"), || async {
            (begun_by(&door).await == expected).then_some(())
        })
        .await;
    }
}

async fn begun_by(door: &Door) -> String {
    let answer = door.post("/api/chats", &json!({})).await;
    if answer.status != 201 {
        return answer.told().1;
    }
    let id = text(&answer.json(), "id").to_owned();
    let chat = door.get(&format!("/api/chats/{id}")).await.ok(200);
    let owner = &chat["owner"];
    match owner["sessionId"].as_str() {
        Some(session) if session.starts_with("issued:") => "issued".to_owned(),
        _ => owner.to_string(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_rule_makes_its_owners() {
    let ground = Ground::new().await;
    let session = r#"{"sessionId":"s"}"#;
    let ada = r#"{"userId":"ada"}"#;
    let (nobody, other) = ("SESSION_REQUIRED", "USER_MISMATCH");
    let (issued, chosen) = ("issued", "SESSION_INVALID");
    let alone = [nobody, issued, chosen, issued, issued, issued];
    check(&ground, IdentityMode::Issued, alone).await;
    let trust = [nobody, issued, chosen, ada, ada, other];
    check(&ground, IdentityMode::Trust, trust).await;
    let signed = [nobody, issued, chosen, "USER_TOKEN_REQUIRED", ada, other];
    check(&ground, IdentityMode::Signed, signed).await;
    let open = [nobody, issued, session, ada, ada, other];
    check(&ground, IdentityMode::Open, open).await;
    check(&ground, IdentityMode::Unspecified, alone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_named_twice_is_the_same() {
    let ground = Ground::new().await;
    let session = ground.session("s");
    let check = async |path: &str, body: &str, expected: (u16, &str)| {
        let body = serde_json::from_str(body).unwrap();
        let (status, code) = session.post(path, &body).await.told();
        assert_eq!((status, code.as_str()), expected, "{path} {body}");
    };
    check("/api/chats", r#"{"sessionId": "s"}"#, (201, "")).await;
    check(
        "/api/chats",
        r#"{"sessionId": "t"}"#,
        (400, "CALLER_AMBIGUOUS"),
    )
    .await;
    for path in ["/api/chats?sessionId=s", "/api/chats?userId=ada"] {
        check(path, "{}", (400, "IDENTITY_IN_QUERY")).await;
    }
    check("/api/chats", r#"{"agentId": "support"}"#, (201, "")).await;
    check(
        "/api/chats",
        r#"{"agentId": "sales"}"#,
        (404, "AGENT_NOT_FOUND"),
    )
    .await;
    check(
        "/api/chats",
        r#"{"agentId": "none"}"#,
        (404, "AGENT_NOT_FOUND"),
    )
    .await;
    let bearer = ground
        .stack
        .door()
        .with("authorization", &format!("Bearer {}", ground.key.secret));
    begin(&bearer.with("x-session-id", "s"), &json!({})).await;
}
