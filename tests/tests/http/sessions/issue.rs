//! Issued sessions: whom they name, how long, and what an id that is not one gives.

use std::time::Duration;

use domain::{AgentId, TenantId, Timestamp};
use event_log::registry::KeyPurpose;
use event_log::{Record, Registry};
use identity::{IssuedSession, SESSION_LIFETIME, SessionIssuer};
use runtime::clock::Clock;
use serde_json::{Value, json};
use tests::door::{Answer, Door};
use tests::eventually::eventually;
use wire::proto::operate::v1::{CreateApiKeyRequest, IdentityMode};

use crate::ground::{AGENT, Ground, TENANT, begin, text};

const PAGE: &str = "https://shop.example";
const COOKIE: &str = "__Host-hansard-support";
const POSITION_COOKIE: &str = "__Host-hansard.position-support";

/// A system whose agent takes issued sessions alone.
async fn ground() -> Ground {
    let ground = Ground::new().await;
    ground.identity_mode(AGENT, IdentityMode::Issued).await;
    eventually("a gateway that knows the mode", || async {
        let chosen = ground.session("s").get("/api/chats").await;
        (chosen.told() == (401, "SESSION_INVALID".to_owned())).then_some(())
    })
    .await;
    ground
}

/// The frontend of [`PAGE`], whose key lists its origin.
async fn page(ground: &Ground) -> Door {
    let request = CreateApiKeyRequest {
        agent_id: AGENT.to_owned(),
        allowed_origins: vec![PAGE.to_owned()],
        ..CreateApiKeyRequest::default()
    };
    let made = ground.operator.registry().create_api_key(request).await;
    let door = ground.stack.door();
    let door = door.with("x-api-key", &made.unwrap().into_inner().secret);
    door.with("origin", PAGE)
}

/// As the gateway's settings have it.
const AGE_MAX: Duration = Duration::from_hours(180 * 24);

/// A session that was issued so many seconds ago.
async fn issued_before(ground: &Ground, seconds: u64) -> String {
    used_since(ground, seconds, &[]).await
}

/// A session that was issued so many seconds ago, and was used at some moments since.
async fn used_since(ground: &Ground, seconds: u64, used: &[u64]) -> String {
    let record = tests::settings::record(&ground.stack.servers);
    let registry = Registry::open(&Record::open(record).await.unwrap()).await;
    let tenant = TenantId::parse(TENANT).unwrap();
    let agent = AgentId::parse(AGENT).unwrap();
    let key = registry.unwrap().tenant_key(&tenant, KeyPurpose::Session);
    let now = Clock::System.now_nanos();
    let ago = |seconds: u64| Timestamp(now - i64::try_from(seconds).unwrap() * 1_000_000_000);
    let mut session = IssuedSession::new([5; 16], ago(seconds), AGE_MAX);
    for used in used {
        session = session.renewed(ago(*used), AGE_MAX).expect("a renewal");
    }
    SessionIssuer::new(key.unwrap().as_bytes(), &tenant, &agent).token(&session)
}

fn cookie_of(answer: &Answer) -> String {
    let cookie = &answer.headers["set-cookie"];
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    let expected = "Path=/; Max-Age=2592000; Secure; HttpOnly; SameSite=Strict";
    assert_eq!(attributes, expected);
    assert!(pair.starts_with(&format!("{COOKIE}=hsess_")), "{pair}");
    pair.to_owned()
}

async fn check(door: &Door, expected: (u16, &str)) {
    let (status, code) = door.post("/api/chats", &json!({})).await.told();
    assert_eq!((status, code.as_str()), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issued_session_owns_what_it_makes_and_nobody_else_does() {
    let ground = ground().await;
    let (one, other) = (ground.issued().await, ground.issued().await);
    assert_ne!(one.shown_session(), other.shown_session());
    let chat = begin(&one, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    assert_eq!(one.get(&path).await.status, 200);
    assert_eq!(other.get(&path).await.status, 404);
    // A session is of its agent.
    let sales = ground.stack.door();
    let sales = sales.with("x-api-key", &ground.other_key.secret);
    check(
        &sales.with("x-session-id", one.shown_session()),
        (401, "SESSION_INVALID"),
    )
    .await;
    let issued = ground.frontend().post("/api/sessions", &json!({})).await;
    let shown = issued.ok(201);
    assert_eq!(shown["sessionId"], issued.headers["x-session-id"].as_str());
    assert!(text(&shown, "expiresAt").ends_with('Z'));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_was_not_issued_is_no_session() {
    let ground = ground().await;
    let session = ground.issued().await;
    let chat = begin(&session, &json!({})).await;
    let shown = session.get(&format!("/api/chats/{chat}")).await.ok(200);
    let owner = text(&shown["owner"], "sessionId").to_owned();
    let token = session.shown_session();
    let shorter = token[..token.len() - 1].to_owned();
    let ids = ["s".to_owned(), "x".repeat(256), owner.clone(), shorter];
    for id in ids {
        check(&ground.session(&id), (401, "SESSION_INVALID")).await;
        let in_body = json!({"sessionId": id});
        let answer = ground.frontend().post("/api/chats", &in_body).await;
        assert_eq!(answer.told(), (401, "SESSION_INVALID".to_owned()));
    }
    check(&ground.frontend(), (401, "SESSION_REQUIRED")).await;
    // Where callers choose their sessions, they cannot choose an issued one's owner.
    ground.identity_mode(AGENT, IdentityMode::Open).await;
    let planted = ground.session(&owner);
    let refused = eventually("a gateway that knows the mode", || async {
        let answer = planted.get(&format!("/api/chats/{chat}")).await;
        (answer.status != 401).then_some(answer)
    })
    .await;
    assert_eq!(refused.told(), (400, "FIELD_MALFORMED".to_owned()));
    assert_eq!(session.get(&format!("/api/chats/{chat}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_renewed_while_it_is_used() {
    let ground = ground().await;
    let lifetime_s = SESSION_LIFETIME.as_secs();
    let fresh = issued_before(&ground, 60).await;
    let answer = ground.session(&fresh).post("/api/chats", &json!({})).await;
    let chat = text(&answer.ok(201), "id").to_owned();
    assert_eq!(answer.headers.get("x-session-id"), None);
    let old = issued_before(&ground, lifetime_s - 60).await;
    let path = format!("/api/chats/{chat}");
    let answer = ground.session(&old).get(&path).await;
    assert_eq!(answer.status, 200);
    let renewed = &answer.headers["x-session-id"];
    assert!(*renewed != old && *renewed != fresh, "{renewed}");
    assert_eq!(ground.session(renewed).get(&path).await.status, 200);
    let expired = issued_before(&ground, lifetime_s + 60).await;
    check(&ground.session(&expired), (401, "SESSION_EXPIRED")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_used_ends_at_its_greatest_age() {
    let ground = ground().await;
    let (age, day) = (AGE_MAX.as_secs(), 86_400);
    let used: Vec<_> = (1..9).rev().map(|n| n * 20 * day).collect();
    let old = used_since(&ground, age - 60, &used).await;
    let answer = ground.session(&old).post("/api/chats", &json!({})).await;
    assert_eq!(answer.status, 201);
    assert_eq!(answer.headers.get("x-session-id"), None, "a later end");
    let past = used_since(&ground, age + 60, &used).await;
    check(&ground.session(&past), (401, "SESSION_EXPIRED")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_counts_for_pages_that_the_key_lists() {
    let ground = ground().await;
    let page = page(&ground).await;
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
    // A read of the page's own host names no origin: the browser marks it.
    let own = page.without("origin").with("host", "shop.example");
    let own = own.with("sec-fetch-site", "same-origin");
    assert_eq!(own.get(&path).await.status, 200);
    let same_site = own.with("sec-fetch-site", "same-site");
    for (door, expected) in [
        (page.without("origin"), (401, "SESSION_REQUIRED")),
        (same_site, (401, "SESSION_REQUIRED")),
        (
            page.with("origin", "https://evil.example"),
            (403, "ORIGIN_NOT_ALLOWED"),
        ),
        (
            page.with("cookie", &format!("{COOKIE}=hsess_x")),
            (401, "SESSION_REQUIRED"),
        ),
    ] {
        let (status, code) = door.get(&path).await.told();
        assert_eq!((status, code.as_str()), expected);
    }
    // The key of any origin: its pages get no cookie, and none counts.
    let any = ground.frontend().with("origin", PAGE);
    let refused = any.post("/api/sessions", &body).await;
    assert_eq!(refused.told(), (403, "COOKIE_NOT_ALLOWED".to_owned()));
    assert_eq!(refused.headers.get(credentials), None);
    let any = any.with("cookie", &cookie_of(&issued));
    assert_eq!(any.get(&path).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_with_a_cookie_reads_what_it_wrote() {
    let mut ground = ground().await;
    let page = page(&ground).await;
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

    ground.stack.projector.stop().await;
    let changed = with(&position).patch(&path, &json!({"title": "a"})).await;
    let later = position_of(&changed);
    assert_ne!(later, position);
    // The rows are behind what the page wrote: a listing waits for them.
    let behind = (503, "POSITION_NOT_REACHED".to_owned());
    assert_eq!(with(&later).get("/api/chats").await.told(), behind);
    assert_eq!(with(&later).get(&path).await.ok(200)["title"], "a");
    // The header counts before the cookie.
    let header = position.split_once('=').unwrap().1;
    let told = with(&later).with("x-position-token", header);
    assert_eq!(told.get("/api/chats").await.status, 200);
    // What is no position of this deployment fails nothing.
    let zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    for value in ["", "x", ".", "%", zeros, &"x".repeat(4_000)] {
        let ignored = with(&format!("{POSITION_COOKIE}={value}"));
        for path in ["/api/chats", &path] {
            let answer = ignored.get(path).await;
            assert_eq!(answer.status, 200, "{value}: {:?}", answer.body);
        }
    }
    // A page whose session is a header gets no cookie, and is not fenced by one.
    let header = ground.issued().await;
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
async fn a_cookie_is_renewed_as_a_cookie() {
    let ground = ground().await;
    let page = page(&ground).await;
    let old = issued_before(&ground, SESSION_LIFETIME.as_secs() - 60).await;
    let page = page.with("cookie", &format!("{COOKIE}={old}"));
    let answer = page.post("/api/chats", &json!({})).await;
    assert_eq!(answer.status, 201);
    assert_ne!(cookie_of(&answer), format!("{COOKIE}={old}"));
    assert_eq!(answer.headers.get("x-session-id"), None);
}
