//! Sessions as an outsider tries them: guessed, chosen, planted, read off an export, cut, changed, taken from another agent,
//! put into a URL. None of them reads, lists, erases or claims anything.

use serde_json::{Value, json};
use tests::door::Door;
use tests::jwt;
use tests::operator::Operator;
use wire::proto::operate::v1::SigningKeyUse;

use crate::ground::Ground;

/// A person's chat with an agent as it was created, and what an outsider may know.
struct Victim {
    session: Door,
    chat: String,
    /// As administrators, logs and exports show it.
    owner: String,
    public_key: String,
}

async fn victim(ground: &Ground, operator: &Operator) -> Victim {
    operator.agent("acme", "support").await;
    let public_key = operator.api_key("support").await.secret;
    let session = ground.stranger().with("x-api-key", &public_key);
    let session = session.in_session().await;
    let begun = session
        .post("/api/chats", &json!({"title": "private"}))
        .await;
    let chat = begun.ok(201)["id"].as_str().expect("an id").to_owned();
    let shown = session.get(&format!("/api/chats/{chat}")).await.ok(200);
    let owner = shown["owner"]["sessionId"].as_str().expect("an owner");
    Victim {
        owner: owner.to_owned(),
        session,
        chat,
        public_key,
    }
}

/// Nothing of the victim's is read, changed, listed or erased by a caller.
async fn check_kept_out(attacker: &Door, victim: &Victim, what: &str) {
    let path = format!("/api/chats/{}", victim.chat);
    let stolen = json!({"title": "stolen"});
    for answer in [
        attacker.get("/api/chats").await,
        attacker.get(&path).await,
        attacker.get(&format!("{path}/export")).await,
        attacker.patch(&path, &stolen).await,
        attacker.post(&format!("{path}/fork"), &json!({})).await,
        attacker.delete(&path).await,
    ] {
        let told = String::from_utf8_lossy(&answer.body);
        assert!(!told.contains("private"), "{what}: {told}");
        assert!([400, 401, 404].contains(&answer.status), "{what}: {told}");
    }
    let shown = victim.session.get(&path).await.ok(200);
    assert_eq!(shown["title"], "private", "{what}");
}

/// The same session with one bit of its middle changed.
fn changed(session: &str) -> String {
    let mut bytes = session.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_was_not_issued_opens_nothing() {
    let ground = Ground::start().await;
    let operator = ground.operator().await;
    let victim = victim(&ground, &operator).await;
    operator.agent("globex", "theirs").await;
    let stranger = ground.stranger().with("x-api-key", &victim.public_key);
    let foreign = operator.api_key("theirs").await.secret;
    let foreign = ground.stranger().with("x-api-key", &foreign);
    let foreign = foreign.in_session().await;
    let session = victim.session.shown_session();
    for (what, id) in [
        ("one byte", "s"),
        ("the owner", &victim.owner),
        ("the chat", &victim.chat),
        ("the session, cut", &session[..session.len() - 1]),
        ("the session, changed", &changed(session)),
        ("another tenant's session", foreign.shown_session()),
    ] {
        let attacker = stranger.with("x-session-id", id);
        check_kept_out(&attacker, &victim, what).await;
    }
    let elsewhere = foreign.with("x-session-id", session);
    check_kept_out(&elsewhere, &victim, "at another tenant's agent").await;
    check_kept_out(&stranger, &victim, "nobody").await;
    let named = stranger.with("x-user-id", "ada");
    check_kept_out(&named, &victim, "a name").await;
    let cookie = format!("__Host-hansard-support={session}");
    let riding = stranger.with("cookie", &cookie);
    check_kept_out(&riding, &victim, "a cookie without a page").await;
    let riding = riding.with("origin", "https://evil.example");
    check_kept_out(&riding, &victim, "a cookie with a key of any origin").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_says_not_who_calls() {
    let ground = Ground::start().await;
    let victim = victim(&ground, &ground.operator().await).await;
    let stranger = ground.stranger().with("x-api-key", &victim.public_key);
    for (name, value) in [
        ("sessionId", victim.session.shown_session()),
        ("session_id", victim.owner.as_str()),
        ("userId", "ada"),
    ] {
        let path = format!("/api/chats/{}?{name}={value}", victim.chat);
        for door in [&stranger, &victim.session] {
            let refused = door.get(&path).await;
            assert_eq!(refused.told(), (400, "IDENTITY_IN_QUERY".to_owned()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_session_is_neither_used_nor_claimed() {
    let ground = Ground::start().await;
    let operator = ground.operator().await;
    let victim = victim(&ground, &operator).await;
    let settings = wire::proto::operate::v1::AgentSettings {
        identity_mode: wire::proto::operate::v1::IdentityMode::Signed.into(),
        ..wire::proto::operate::v1::AgentSettings::default()
    };
    operator.settings("support", settings).await;
    let secret = operator
        .signing_key("acme", "users", SigningKeyUse::User)
        .await;
    let stranger = ground.stranger().with("x-api-key", &victim.public_key);
    // Whoever is given a session by somebody else cannot begin anything in it.
    let planted = stranger.with("x-session-id", "planted");
    let refused = planted.post("/api/chats", &json!({})).await;
    assert_eq!(refused.told(), (401, "SESSION_INVALID".to_owned()));
    let eve = stranger.with("x-user-token", &jwt::user(&secret, "eve"));
    let known = tests::eventually::eventually("a gateway that knows the signing key", || async {
        let claim = eve.post("/api/sessions/claim", &json!({})).await;
        (claim.told() == (401, "SESSION_REQUIRED".to_owned())).then_some(())
    });
    known.await;
    for session in ["planted", victim.owner.as_str(), "s", ""] {
        let body = json!({"sessionId": session});
        let claim = eve.post("/api/sessions/claim", &body).await;
        assert_eq!(
            claim.told(),
            (401, "SESSION_INVALID".to_owned()),
            "{session}"
        );
        let body = json!({"sessionId": session, "chatId": victim.chat});
        let release = eve.post("/api/sessions/release", &body).await;
        assert_eq!(
            release.told(),
            (401, "SESSION_INVALID".to_owned()),
            "{session}"
        );
    }
    let path = format!("/api/chats/{}", victim.chat);
    let shown = victim.session.get(&path).await.ok(200);
    assert_eq!(shown["owner"]["sessionId"], Value::from(victim.owner));
}
