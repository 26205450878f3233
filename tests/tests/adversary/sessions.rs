//! Forged sessions: guessed, chosen, planted, from an export, truncated, changed, of another agent, in a URL. None of them
//! can read, list, erase or claim anything. Nor can a stolen one after it was revoked.

use serde_json::{Value, json};
use tests::errors::check_failure;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::jwt;
use tests::operator::Operator;
use tonic::Code;
use wire::proto::operate::v1::{AgentSettings, IdentityMode, RevokeSessionRequest, Scope, SigningKeyUse};

use crate::fixture::Fixture;

/// A chat with an agent with default settings, and what an outsider may know of it.
struct Victim {
    session: HttpClient,
    chat: String,
    /// As administrators, logs and exports show it.
    owner: String,
    public_key: String,
}

async fn victim(fixture: &Fixture, operator: &Operator) -> Victim {
    operator.agent("acme", "support").await;
    let public_key = operator.api_key("support").await.secret;
    let session = fixture.stranger().with("x-api-key", &public_key).in_session().await;
    let begun = session.post("/api/chats", &json!({"title": "private"})).await;
    let chat = begun.ok(201)["id"].as_str().expect("an id").to_owned();
    let shown = session.get(&format!("/api/chats/{chat}")).await.ok(200);
    let owner = shown["owner"]["sessionId"].as_str().expect("an owner");
    Victim { owner: owner.to_owned(), session, chat, public_key }
}

/// Checks that a caller can neither read, change, list nor erase anything of the victim.
async fn check_no_access(attacker: &HttpClient, victim: &Victim, what: &str) {
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
        let text = String::from_utf8_lossy(&answer.body);
        assert!(!text.contains("private"), "{what}: {text}");
        assert!([400, 401, 404].contains(&answer.status), "{what}: {text}");
    }
    let shown = victim.session.get(&path).await.ok(200);
    assert_eq!(shown["title"], "private", "{what}");
}

/// The session with one changed bit in the middle.
fn with_changed_bit(session: &str) -> String {
    let mut bytes = session.as_bytes().to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] = if bytes[middle] == b'A' { b'B' } else { b'A' };
    String::from_utf8(bytes).expect("text")
}

#[tokio::test(flavor = "multi_thread")]
async fn unissued_session_ids_are_rejected() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    let victim = victim(&fixture, &operator).await;
    operator.agent("globex", "theirs").await;
    let stranger = fixture.stranger().with("x-api-key", &victim.public_key);
    let foreign = operator.api_key("theirs").await.secret;
    let foreign = fixture.stranger().with("x-api-key", &foreign).in_session().await;
    let session = victim.session.session_id();
    for (what, id) in [
        ("one byte", "s"),
        ("the owner", &victim.owner),
        ("the chat", &victim.chat),
        ("the session, cut", &session[..session.len() - 1]),
        ("the session, changed", &with_changed_bit(session)),
        ("another tenant's session", foreign.session_id()),
    ] {
        let attacker = stranger.with("x-session-id", id);
        check_no_access(&attacker, &victim, what).await;
    }
    let other_agent = foreign.with("x-session-id", session);
    check_no_access(&other_agent, &victim, "at another tenant's agent").await;
    check_no_access(&stranger, &victim, "nobody").await;
    let named = stranger.with("x-user-id", "ada");
    check_no_access(&named, &victim, "a name").await;
    let cookie = format!("__Host-hansard-support={session}");
    let riding = stranger.with("cookie", &cookie);
    check_no_access(&riding, &victim, "a cookie without a page").await;
    let riding = riding.with("origin", "https://evil.example");
    check_no_access(&riding, &victim, "a cookie with a key of any origin").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn identities_in_urls_are_rejected() {
    let fixture = Fixture::start().await;
    let victim = victim(&fixture, &fixture.operator().await).await;
    let stranger = fixture.stranger().with("x-api-key", &victim.public_key);
    for (name, value) in
        [("sessionId", victim.session.session_id()), ("session_id", victim.owner.as_str()), ("userId", "ada")]
    {
        let path = format!("/api/chats/{}?{name}={value}", victim.chat);
        for client in [&stranger, &victim.session] {
            let refused = client.get(&path).await;
            assert_eq!(refused.status_and_code(), (400, "IDENTITY_IN_QUERY".to_owned()));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn planted_sessions_cannot_be_used_or_claimed() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    let victim = victim(&fixture, &operator).await;
    let settings = AgentSettings { identity_mode: IdentityMode::Signed.into(), ..AgentSettings::default() };
    operator.settings("support", settings).await;
    let secret = operator.signing_key("acme", "users", SigningKeyUse::User).await;
    let stranger = fixture.stranger().with("x-api-key", &victim.public_key);
    // A session that somebody else chose cannot be used.
    let planted = stranger.with("x-session-id", "planted");
    let refused = planted.post("/api/chats", &json!({})).await;
    assert_eq!(refused.status_and_code(), (401, "SESSION_INVALID".to_owned()));
    let eve = stranger.with("x-user-token", &jwt::user(&secret, "eve"));
    let known = eventually("a gateway that knows the signing key", || async {
        let claim = eve.post("/api/sessions/claim", &json!({})).await;
        (claim.status_and_code() == (401, "SESSION_REQUIRED".to_owned())).then_some(())
    });
    known.await;
    for session in ["planted", victim.owner.as_str(), "s", ""] {
        let body = json!({"sessionId": session});
        let claim = eve.post("/api/sessions/claim", &body).await;
        assert_eq!(claim.status_and_code(), (401, "SESSION_INVALID".to_owned()), "{session}");
        let body = json!({"sessionId": session, "chatId": victim.chat});
        let release = eve.post("/api/sessions/release", &body).await;
        assert_eq!(release.status_and_code(), (401, "SESSION_INVALID".to_owned()), "{session}");
    }
    let path = format!("/api/chats/{}", victim.chat);
    let shown = victim.session.get(&path).await.ok(200);
    assert_eq!(shown["owner"]["sessionId"], Value::from(victim.owner));
}

#[tokio::test(flavor = "multi_thread")]
async fn stolen_sessions_can_be_revoked() {
    let fixture = Fixture::start().await;
    let operator = fixture.operator().await;
    let victim = victim(&fixture, &operator).await;
    operator.agent("globex", "theirs").await;
    let secret = operator.signing_key("acme", "users", SigningKeyUse::User).await;
    let stranger = fixture.stranger().with("x-api-key", &victim.public_key);
    let other = stranger.in_session().await;
    let thief = stranger.with("x-session-id", victim.session.session_id());
    let chat = format!("/api/chats/{}", victim.chat);
    let revoke = async |operator: &Operator, tenant: &str, session: &str| {
        let request = RevokeSessionRequest { tenant_id: tenant.to_owned(), session_id: session.to_owned() };
        operator.registry().revoke_session(request).await.map(drop)
    };
    let foreign = operator.token(&[Scope::Operate], "globex").await;
    let foreign = Operator::new(operator.caller().with_token(&foreign.secret));
    let not_found = (Code::NotFound, "REGISTRY_ENTRY_NOT_FOUND", "tenant_id");
    check_failure("another tenant's operator", revoke(&foreign, "acme", &victim.owner).await, not_found);
    check_failure("a missing tenant", revoke(&operator, "nobody", &victim.owner).await, not_found);
    let malformed = (Code::InvalidArgument, "FIELD_MALFORMED", "session_id");
    check_failure("the session itself", revoke(&operator, "acme", thief.session_id()).await, malformed);
    revoke(&foreign, "globex", &victim.owner).await.expect("a revocation in the own tenant");
    assert_eq!(thief.get(&chat).await.status, 200);
    revoke(&operator, "acme", &victim.owner).await.expect("a revocation");
    eventually("the end of the session", || async { (thief.get(&chat).await.status == 401).then_some(()) }).await;
    let claiming = stranger.with("x-user-token", &jwt::user(&secret, "eve"));
    let claim = json!({"sessionId": thief.session_id()});
    let parts = json!([{"type": "text", "text": "hello"}]);
    let turn = json!({"messages": [{"id": "m1", "role": "user", "parts": parts}]});
    for (what, answer) in [
        ("a list", thief.get("/api/chats").await),
        ("a search", thief.get("/api/search?q=private").await),
        ("a read", thief.get(&chat).await),
        ("an export", thief.get(&format!("{chat}/export")).await),
        ("a stream", thief.get(&format!("{chat}/events")).await),
        ("a change", thief.patch(&chat, &json!({"title": "stolen"})).await),
        ("a fork", thief.post(&format!("{chat}/fork"), &json!({})).await),
        ("a message", thief.post("/api/chat", &turn).await),
        ("a chat", thief.post("/v1/chat", &json!({"message": "hello"})).await),
        ("a deletion", thief.delete(&chat).await),
    ] {
        assert_eq!(answer.status_and_code(), (401, "SESSION_INVALID".to_owned()), "{what}");
        assert_eq!(answer.headers.get("x-session-id"), None, "{what}");
    }
    assert_eq!(other.get("/api/chats").await.status, 200);
    let mode = IdentityMode::Signed.into();
    operator.settings("support", AgentSettings { identity_mode: mode, ..AgentSettings::default() }).await;
    eventually("a rejected claim", || async {
        let answer = claiming.post("/api/sessions/claim", &claim).await;
        assert_ne!(answer.status, 200, "a claim of a revoked session");
        (answer.status_and_code() == (401, "SESSION_INVALID".to_owned())).then_some(())
    })
    .await;
}
