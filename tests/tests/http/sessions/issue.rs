//! Issued sessions: their owner, their lifetime, and the answers to invalid ids.

use std::time::Duration;

use domain::{AgentId, TenantId, Timestamp};
use event_log::Record;
use identity::{IssuedSession, SESSION_LIFETIME, SessionIssuer};
use registry::{KeyPurpose, Registry};
use runtime::clock::Clock;
use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use wire::proto::operate::v1::{CreateApiKeyRequest, IdentityMode};

use crate::fixture::{Fixture, begin, text};

pub(super) const PAGE: &str = "https://shop.example";
const COOKIE: &str = "__Host-hansard-support";
const POSITION_COOKIE: &str = "__Host-hansard.position-support";

/// A system whose agent accepts only issued sessions.
async fn fixture() -> Fixture {
    let fixture = Fixture::own().await;
    fixture.identity_mode(fixture.agent_id, IdentityMode::Issued).await;
    eventually("a gateway that knows the mode", || async {
        let chosen = fixture.session("s").get("/api/chats").await;
        (chosen.status_and_code() == (401, "SESSION_INVALID".to_owned())).then_some(())
    })
    .await;
    fixture
}

/// The frontend of [`PAGE`], with a key that lists its origin.
pub(super) async fn page(fixture: &Fixture) -> HttpClient {
    let request = CreateApiKeyRequest {
        agent_id: fixture.agent_id.to_owned(),
        allowed_origins: vec![PAGE.to_owned()],
        ..CreateApiKeyRequest::default()
    };
    let made = fixture.operator.registry().create_api_key(request).await;
    let client = fixture.stack.http_client().with("x-api-key", &made.unwrap().into_inner().secret);
    client.with("origin", PAGE)
}

/// The value in the gateway's settings.
const AGE_MAX: Duration = Duration::from_hours(180 * 24);

/// A session that was issued this many seconds ago.
pub(super) async fn issued_before(fixture: &Fixture, seconds: u64) -> String {
    used_since(fixture, seconds, &[]).await
}

/// A session that was issued this many seconds ago, and used at some times since.
async fn used_since(fixture: &Fixture, seconds: u64, used: &[u64]) -> String {
    let record = tests::settings::record(&fixture.stack.servers);
    let registry = Registry::open(&Record::open(record).await.unwrap()).await;
    let tenant = TenantId::parse(fixture.tenant).unwrap();
    let agent = AgentId::parse(fixture.agent_id).unwrap();
    let key = registry.unwrap().tenant_key(&tenant, KeyPurpose::Session);
    let now = Clock::System.now_nanos();
    let ago = |seconds: u64| Timestamp(now - i64::try_from(seconds).unwrap() * 1_000_000_000);
    let mut session = IssuedSession::new([5; 16], ago(seconds), AGE_MAX);
    for used in used {
        session = session.renewed(ago(*used), AGE_MAX).expect("a renewal");
    }
    SessionIssuer::new(key.unwrap().as_bytes(), &tenant, &agent).token(&session)
}

pub(super) fn cookie_of(answer: &Answer) -> String {
    let cookie = &answer.headers["set-cookie"];
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let expected = "Path=/; Max-Age=2592000; Secure; HttpOnly; SameSite=Strict";
    assert_eq!(attributes, expected);
    assert!(pair.starts_with(&format!("{COOKIE}=hsess_")), "{pair}");
    pair.to_owned()
}

async fn check(client: &HttpClient, expected: (u16, &str)) {
    let (status, code) = client.post("/api/chats", &json!({})).await.status_and_code();
    assert_eq!((status, code.as_str()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn issued_sessions_own_their_conversations_alone() {
    let fixture = fixture().await;
    let (one, other) = (fixture.issued_session().await, fixture.issued_session().await);
    assert_ne!(one.session_id(), other.session_id());
    let chat = begin(&one, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    assert_eq!(one.get(&path).await.status, 200);
    assert_eq!(other.get(&path).await.status, 404);
    // A session belongs to its agent.
    let sales = fixture.stack.http_client().with("x-api-key", &fixture.other_key.secret);
    check(&sales.with("x-session-id", one.session_id()), (401, "SESSION_INVALID")).await;
    let issued = fixture.frontend().post("/api/sessions", &json!({})).await;
    let shown = issued.ok(201);
    assert_eq!(shown["sessionId"], issued.headers["x-session-id"].as_str());
    assert!(text(&shown, "expiresAt").ends_with('Z'));
}

#[tokio::test(flavor = "multi_thread")]
async fn unissued_ids_are_no_sessions() {
    let fixture = fixture().await;
    let session = fixture.issued_session().await;
    let chat = begin(&session, &json!({})).await;
    let shown = session.get(&format!("/api/chats/{chat}")).await.ok(200);
    let owner = text(&shown["owner"], "sessionId").to_owned();
    let token = session.session_id();
    let shorter = token[..token.len() - 1].to_owned();
    let ids = ["s".to_owned(), "x".repeat(256), owner.clone(), shorter];
    for id in ids {
        check(&fixture.session(&id), (401, "SESSION_INVALID")).await;
        let in_body = json!({"sessionId": id});
        let answer = fixture.frontend().post("/api/chats", &in_body).await;
        assert_eq!(answer.status_and_code(), (401, "SESSION_INVALID".to_owned()));
    }
    check(&fixture.frontend(), (401, "SESSION_REQUIRED")).await;
    // An agent that accepts any session ids rejects the owner id of an issued one.
    fixture.identity_mode(fixture.agent_id, IdentityMode::Open).await;
    let planted = fixture.session(&owner);
    let refused = eventually("a gateway that knows the mode", || async {
        let answer = planted.get(&format!("/api/chats/{chat}")).await;
        (answer.status != 401).then_some(answer)
    })
    .await;
    assert_eq!(refused.status_and_code(), (400, "FIELD_MALFORMED".to_owned()));
    assert_eq!(session.get(&format!("/api/chats/{chat}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn used_sessions_are_renewed() {
    let fixture = fixture().await;
    let lifetime_s = SESSION_LIFETIME.as_secs();
    let fresh = issued_before(&fixture, 60).await;
    let answer = fixture.session(&fresh).post("/api/chats", &json!({})).await;
    let chat = text(&answer.ok(201), "id").to_owned();
    assert_eq!(answer.headers.get("x-session-id"), None);
    let old = issued_before(&fixture, lifetime_s - 60).await;
    let path = format!("/api/chats/{chat}");
    let answer = fixture.session(&old).get(&path).await;
    assert_eq!(answer.status, 200);
    let renewed = &answer.headers["x-session-id"];
    assert!(*renewed != old && *renewed != fresh, "{renewed}");
    assert_eq!(fixture.session(renewed).get(&path).await.status, 200);
    let expired = issued_before(&fixture, lifetime_s + 60).await;
    check(&fixture.session(&expired), (401, "SESSION_EXPIRED")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn used_sessions_end_at_their_maximum_age() {
    let fixture = fixture().await;
    let (age, day) = (AGE_MAX.as_secs(), 86_400);
    let used: Vec<_> = (1..9).rev().map(|n| n * 20 * day).collect();
    let old = used_since(&fixture, age - 60, &used).await;
    let answer = fixture.session(&old).post("/api/chats", &json!({})).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.headers.get("x-session-id"), None, "a later end");
    let past = used_since(&fixture, age + 60, &used).await;
    check(&fixture.session(&past), (401, "SESSION_EXPIRED")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_count_only_for_origins_of_the_key() {
    let fixture = fixture().await;
    let page = page(&fixture).await;
    let body = json!({"transport": "cookie"});
    let issued = page.post("/api/sessions", &body).await;
    assert_eq!(issued.ok(201)["sessionId"], Value::Null);
    assert_eq!(issued.headers.get("x-session-id"), None);
    let credentials = "access-control-allow-credentials";
    assert_eq!(issued.headers[credentials], "true");
    let page = page.with("cookie", &format!("a=b; {}", cookie_of(&issued)));
    let chat = begin(&page, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    assert_eq!(page.get(&path).await.status, 200);
    // A request to the page's own host has no origin header: the browser marks it.
    let own = page.without("origin").with("host", "shop.example").with("sec-fetch-site", "same-origin");
    assert_eq!(own.get(&path).await.status, 200);
    let same_site = own.with("sec-fetch-site", "same-site");
    for (client, expected) in [
        (page.without("origin"), (401, "SESSION_REQUIRED")),
        (same_site, (401, "SESSION_REQUIRED")),
        (page.with("origin", "https://evil.example"), (403, "ORIGIN_NOT_ALLOWED")),
        (page.with("cookie", &format!("{COOKIE}=hsess_x")), (401, "SESSION_REQUIRED")),
    ] {
        let (status, code) = client.get(&path).await.status_and_code();
        assert_eq!((status, code.as_str()), expected);
    }
    // With a key for any origin, pages get no cookie, and cookies are ignored.
    let any = fixture.frontend().with("origin", PAGE);
    let refused = any.post("/api/sessions", &body).await;
    assert_eq!(refused.status_and_code(), (403, "COOKIE_NOT_ALLOWED".to_owned()));
    assert_eq!(refused.headers.get(credentials), None);
    let any = any.with("cookie", &cookie_of(&issued));
    assert_eq!(any.get(&path).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_with_cookies_read_their_writes() {
    let mut fixture = fixture().await;
    let page = page(&fixture).await;
    let body = json!({"transport": "cookie"});
    let session = cookie_of(&page.post("/api/sessions", &body).await);
    let page = page.with("cookie", &session);
    // An answer to a write sets the position, an answer to a read does not.
    let begun = page.post("/api/chats", &json!({})).await;
    let chat = text(&begun.ok(201), "id").to_owned();
    let position = position_of(&begun);
    let path = format!("/api/chats/{chat}");
    let with = |position: &str| page.with("cookie", &format!("{session}; {position}"));
    let read = with(&position).get(&path).await;
    assert_eq!((read.status, read.headers.get("set-cookie")), (200, None));
    assert_eq!(with(&position).get("/api/chats").await.status, 200);

    fixture.stack.projector.stop().await;
    let changed = with(&position).patch(&path, &json!({"title": "a"})).await;
    let later = position_of(&changed);
    assert_ne!(later, position);
    // The rows lag behind the page's write: a listing waits for them.
    let behind = (503, "POSITION_NOT_REACHED".to_owned());
    assert_eq!(with(&later).get("/api/chats").await.status_and_code(), behind);
    assert_eq!(with(&later).get(&path).await.ok(200)["title"], "a");
    // The header has precedence over the cookie.
    let header = position.split_once('=').unwrap().1;
    let with_header = with(&later).with("x-position-token", header);
    assert_eq!(with_header.get("/api/chats").await.status, 200);
    // An invalid position in a cookie is ignored.
    let zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for value in ["", "x", ".", "%", zeros, &"x".repeat(4_000)] {
        let ignored = with(&format!("{POSITION_COOKIE}={value}"));
        for path in ["/api/chats", &path] {
            let answer = ignored.get(path).await;
            assert_eq!(answer.status, 200, "{value}: {:?}", answer.body);
        }
    }
    // A page with its session in a header gets no cookie, and its cookie is ignored.
    let header = fixture.issued_session().await;
    let plain = header.with("cookie", &later);
    let begun = plain.post("/api/chats", &json!({})).await;
    assert_eq!((begun.status, begun.headers.get("set-cookie")), (201, None));
    assert_eq!(plain.get("/api/chats").await.status, 200);
}

fn position_of(answer: &Answer) -> String {
    let cookie = &answer.headers["set-cookie"];
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let expected = "Path=/; Max-Age=300; Secure; HttpOnly; SameSite=Strict";
    assert_eq!(attributes, expected);
    let value = pair.strip_prefix(&format!("{POSITION_COOKIE}=")).unwrap();
    assert!(value.len() < 512, "{value}");
    pair.to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn cookies_are_renewed_as_cookies() {
    let fixture = fixture().await;
    let page = page(&fixture).await;
    let old = issued_before(&fixture, SESSION_LIFETIME.as_secs() - 60).await;
    let page = page.with("cookie", &format!("{COOKIE}={old}"));
    let answer = page.post("/api/chats", &json!({})).await;
    assert_eq!(answer.status, 201);
    assert_ne!(cookie_of(&answer), format!("{COOKIE}={old}"));
    assert_eq!(answer.headers.get("x-session-id"), None);
}
