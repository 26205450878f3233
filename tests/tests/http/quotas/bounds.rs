//! Each quota at its bound and one past it, through the public endpoints.

use std::time::Duration;

use serde_json::{Value, json};
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use tonic::Code;
use tonic_types::StatusExt as _;
use uuid::Uuid;

use super::fixture::{bound, check_refused, fixture, say, session, set};
use crate::fixture::{Fixture, begin};

/// Words that keep the slow model busy.
const LONG: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";

/// Starts a run without waiting for it; returns its chat.
async fn start(client: &HttpClient) -> String {
    let chat = begin(client, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    let request = client.request(reqwest::Method::POST, &path);
    let answer = request.json(&json!({"content": LONG})).send().await.unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    chat
}

async fn idle(client: &HttpClient, chat: &str) {
    let path = format!("/api/chats/{chat}/stream");
    eventually("an answer's end", || async { (client.get(&path).await.status == 204).then_some(()) }).await;
}

/// Two runs of callers with a shared scope are allowed; a third one only after the end of another one.
async fn check_runs(fixture: &Fixture, scope: &str, clients: [HttpClient; 3]) {
    set(fixture, scope, "runs", Some(2)).await;
    let [first, second, third] = clients;
    let one = start(&first).await;
    let other = start(&second).await;
    check_refused(&say(&third, "too much").await, (scope, "runs"), 2);
    let chat = begin(&third, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    let answer = third.post(&path, &json!({"content": "too much"})).await;
    check_refused(&answer, (scope, "runs"), 2);
    idle(&first, &one).await;
    assert_eq!(say(&third, "x").await.status, 200);
    idle(&second, &other).await;
    set(fixture, scope, "runs", Some(1_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_limited_in_every_scope() {
    let fixture = fixture(|_| (), |_| ()).await;
    let of = |id: &str, address: &str| session(&fixture, id, address);
    let anyone = [("a", "192.0.2.1"), ("b", "192.0.2.2"), ("c", "192.0.2.3")];
    for scope in ["tenant", "agent", "key"] {
        check_runs(&fixture, scope, anyone.map(|(id, at)| of(id, at))).await;
    }
    let same_owner = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    check_runs(&fixture, "owner", same_owner.map(|at| of("a", at))).await;
    let same_address = ["a", "b", "c"];
    check_runs(&fixture, "address", same_address.map(|id| of(id, "192.0.2.9"))).await;
}

fn tokens(answer: &Value) -> u64 {
    let count = |name: &str| answer["usage"][name].as_u64().unwrap();
    count("input_tokens") + count("output_tokens")
}

#[tokio::test(flavor = "multi_thread")]
async fn daily_tokens_are_limited_for_stateless_turns_too() {
    let fixture = fixture(|_| (), |_| ()).await;
    let of = |id: &str| session(&fixture, id, "192.0.2.1");
    let spent = tokens(&say(&of("measure"), "a b").await.ok(200));
    assert!(spent > 0);
    for (id, bound, allowed) in [("at", spent, 1), ("past", spent + 1, 2)] {
        set(&fixture, "owner", "model_tokens_per_day", Some(bound)).await;
        for _ in 0..allowed {
            assert_eq!(say(&of(id), "a b").await.status, 200, "{id}");
        }
        let refused = say(&of(id), "a b").await;
        check_refused(&refused, ("owner", "model_tokens_per_day"), bound);
        let chat = begin(&of(id), &json!({})).await;
        let path = format!("/api/chats/{chat}/messages");
        let refused = of(id).post(&path, &json!({"content": "a b"})).await;
        check_refused(&refused, ("owner", "model_tokens_per_day"), bound);
        // Other callers are accepted.
        assert_eq!(say(&of(&format!("{id}-other")), "a b").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn interrupted_turns_are_counted() {
    let fixture = fixture(|_| (), |_| ()).await;
    let client = session(&fixture, "cutter", "192.0.2.1");
    set(&fixture, "owner", "model_tokens_per_day", Some(1)).await;
    let body = json!({"message": LONG, "stream": true});
    let request = client.request(reqwest::Method::POST, "/v1/chat").json(&body);
    let mut answer = request.send().await.unwrap();
    answer.chunk().await.unwrap();
    drop(answer);
    eventually("a turn that is counted", || async { (say(&client, "x").await.status == 429).then_some(()) }).await;
}

/// Creates a chat and changes it: from then on it counts as a conversation.
async fn begin_with_title(client: &HttpClient) -> Answer {
    let chat = begin(client, &json!({})).await;
    client.patch(&format!("/api/chats/{chat}"), &json!({"title": "a title"})).await
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_limited() {
    let fixture = fixture(|_| (), |_| ()).await;
    set(&fixture, "owner", "conversations", Some(2)).await;
    let client = session(&fixture, "many", "192.0.2.1");
    // Empty ones count for nobody.
    let [empty, another_empty] = [begin(&client, &json!({})).await, begin(&client, &json!({})).await];
    // The owner's quota is checked when the agent has as many.
    for _ in 0..2 {
        assert_eq!(begin_with_title(&client).await.status, 200);
    }
    check_refused(&begin_with_title(&client).await, ("owner", "conversations"), 2);
    for chat in [empty, another_empty] {
        let refused = client.post(&format!("/api/chats/{chat}/messages"), &json!({"content": "x"})).await;
        check_refused(&refused, ("owner", "conversations"), 2);
    }
    assert_eq!(begin_with_title(&session(&fixture, "another", "192.0.2.1")).await.status, 200);
    set(&fixture, "tenant", "conversations", Some(0)).await;
    let another = session(&fixture, "third", "192.0.2.1");
    check_refused(&begin_with_title(&another).await, ("tenant", "conversations"), 0);
    set(&fixture, "tenant", "conversations", Some(1_000)).await;
    for of in [
        ("tenant", "conversations"),
        ("agent", "conversations"),
        ("owner", "conversations"),
        ("tenant", "stored_bytes"),
        ("agent", "stored_bytes"),
        ("owner", "stored_bytes"),
        ("tenant", "appended_bytes_per_minute"),
        ("agent", "appended_bytes_per_minute"),
        ("owner", "appended_bytes_per_minute"),
    ] {
        check_status(&fixture, of).await;
    }
}

/// What frontends of one key or address create and send on a day is bounded, for all owners together.
#[tokio::test(flavor = "multi_thread")]
async fn what_keys_and_addresses_send_is_limited() {
    let fixture = fixture(|_| (), |_| ()).await;
    let of = |id: &str, address: &str| session(&fixture, id, address);
    for (number, scope) in ["address", "key"].into_iter().enumerate() {
        let address = format!("192.0.2.1{number}");
        let before = if scope == "key" { 3 } else { 0 };
        set(&fixture, scope, "conversations", Some(before + 2)).await;
        for id in ["a", "b"] {
            begin(&of(&format!("{id}{number}"), &address), &json!({})).await;
        }
        for path in ["/api/chats", "/v1/chat/sessions"] {
            let refused = of("c", &address).post(path, &json!({})).await;
            check_refused(&refused, (scope, "conversations"), before + 2);
        }
        let elsewhere = of("d", "192.0.2.99").post("/api/chats", &json!({})).await;
        assert_eq!(elsewhere.status, if scope == "key" { 429 } else { 201 }, "{elsewhere:?}");
        set(&fixture, scope, "conversations", Some(1_000)).await;
    }
    let chat = begin(&of("e", "192.0.2.20"), &json!({})).await;
    set(&fixture, "address", "stored_bytes", Some(10_000)).await;
    let client = of("e", "192.0.2.20");
    let large = "x".repeat(9_000);
    let path = format!("/api/chats/{chat}");
    assert_eq!(client.patch(&path, &json!({"metadata": {"k": large}})).await.status, 200);
    for (method, path, body) in [
        ("PATCH", path.clone(), json!({"metadata": {"k": large}})),
        ("POST", format!("{path}/messages"), json!({"content": large})),
        ("POST", "/api/chats".to_owned(), json!({"metadata": {"k": large}})),
    ] {
        let refused = client.send(method, &path, Some(&body)).await;
        check_refused(&refused, ("address", "stored_bytes"), 10_000);
    }
    assert_eq!(of("e", "192.0.2.21").patch(&path, &json!({"metadata": {"k": large}})).await.status, 200);
    // What is sent again counts once.
    let (client, part) = (of("e", "192.0.2.22"), "x".repeat(3_000));
    for (method, path, body) in [
        ("PATCH", path.clone(), json!({"metadata": {"k": part}})),
        ("POST", format!("{path}/messages"), json!({"content": part})),
    ] {
        let client = client.with("idempotency-key", &Uuid::now_v7().to_string());
        for attempt in 1..=5 {
            let sent = client.send(method, &path, Some(&body)).await;
            assert_eq!(sent.status, 200, "attempt {attempt}: {sent:?}");
        }
    }
    let refused = client.patch(&path, &json!({"metadata": {"k": "x".repeat(4_500)}})).await;
    check_refused(&refused, ("address", "stored_bytes"), 10_000);
}

/// A part of what a tenant may store is for users and back ends: sessions cannot fill it.
#[tokio::test(flavor = "multi_thread")]
async fn sessions_leave_a_part_to_users_and_back_ends() {
    let fixture = fixture(|_| (), |_| ()).await;
    set(&fixture, "tenant", "conversations", Some(10)).await;
    for number in 0..9 {
        let begun = begin_with_title(&session(&fixture, &format!("s{number}"), "192.0.2.1")).await;
        assert_eq!(begun.status, 200, "{begun:?}");
    }
    let refused = begin_with_title(&session(&fixture, "one-more", "192.0.2.2")).await;
    check_refused(&refused, ("tenant", "conversations"), 9);
    fixture.agent.try_create(creation_by_user(&fixture)).await.expect("the part of a back end");
}

fn creation_by_user(fixture: &Fixture) -> wire::proto::write::v1::CreateConversationRequest {
    let owner = domain::Owner::User(domain::UserId::parse("ada").unwrap());
    let mut request = fixture.agent.create_request(&Uuid::now_v7().to_string());
    request.owner = Some(wire::conversation::owner_to_proto(&owner));
    request
}

/// Sets a quota to 0, and checks the details of the gRPC error.
async fn check_status(fixture: &Fixture, (scope, quota): (&str, &str)) {
    set(fixture, scope, quota, Some(0)).await;
    let status = eventually("a writer that knows the quota", || async {
        let created = fixture.agent.try_create(creation_by_user(fixture));
        created.await.err()
    })
    .await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(info.reason, "QUOTA_EXCEEDED");
    let facts = ["scope", "quota", "bound"].map(|name| info.metadata[name].as_str());
    assert_eq!(facts, [scope, quota, "0"]);
    assert!(info.metadata["used"].parse::<u64>().is_ok(), "{info:?}");
    let failure = details.quota_failure().unwrap();
    let violations = failure.violations.iter().map(|one| (one.subject.as_str(), one.description.as_str()));
    let expected = (scope, format!("{quota}: 0"));
    assert!(violations.eq([(expected.0, expected.1.as_str())]), "{failure:?}");
    let retry = details.retry_info().and_then(|retry| retry.retry_delay);
    let is_stored = matches!(quota, "conversations" | "stored_bytes");
    assert_eq!(retry.is_none_or(|retry| retry < Duration::from_millis(100)), is_stored, "{retry:?}");
    set(fixture, scope, quota, Some(1_000_000_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appended_bytes_are_limited() {
    let fixture = fixture(|_| (), |_| ()).await;
    let client = session(&fixture, "writer", "192.0.2.1");
    // Commits count with their stored, compressed size: random digits compress to half of their size.
    let random = || -> String { (0..1_250).map(|_| Uuid::new_v4().simple().to_string()).collect() };
    let large = || json!({"metadata": {"k": random()}});
    set(&fixture, "owner", "appended_bytes_per_minute", Some(30_000)).await;
    let id = begin(&client, &large()).await;
    let refused = client.post("/api/chats", &large()).await;
    check_refused(&refused, ("owner", "appended_bytes_per_minute"), 30_000);
    begin(&session(&fixture, "other", "192.0.2.1"), &large()).await;
    // Erasures are never rejected.
    client.erase(&format!("/api/chats/{id}")).await;
    assert_eq!(bound(&client, "owner", "appended_bytes_per_minute").await, Some(30_000));
}

/// What the quota of an owner rejects is not charged to its tenant.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_at_its_quota_uses_none_of_its_tenants() {
    let fixture = fixture(|_| (), |_| ()).await;
    set(&fixture, "owner", "conversations", Some(2)).await;
    set(&fixture, "tenant", "conversations", Some(10)).await;
    let greedy = session(&fixture, "greedy", "192.0.2.1");
    for _ in 0..2 {
        assert_eq!(begin_with_title(&greedy).await.status, 200);
    }
    for _ in 0..9 {
        check_refused(&begin_with_title(&greedy).await, ("owner", "conversations"), 2);
    }
    assert_eq!(begin_with_title(&session(&fixture, "modest", "192.0.2.1")).await.status, 200);

    set(&fixture, "owner", "appended_bytes_per_minute", Some(30_000)).await;
    set(&fixture, "tenant", "appended_bytes_per_minute", Some(100_000)).await;
    let large = || {
        let texts = (0..1_250).map(|_| Uuid::new_v4().simple().to_string());
        json!({"metadata": {"k": texts.collect::<String>()}})
    };
    let greedy = session(&fixture, "fast", "192.0.2.1");
    begin(&greedy, &large()).await;
    for _ in 0..4 {
        let refused = greedy.post("/api/chats", &large()).await;
        check_refused(&refused, ("owner", "appended_bytes_per_minute"), 30_000);
    }
    begin(&session(&fixture, "slow", "192.0.2.1"), &large()).await;
}

/// The usage of a quota, as administrators see it.
async fn usage(fixture: &Fixture, quota: &str) -> Option<u64> {
    let path = "/v1/admin/usage?from=2026-01-01&to=2026-01-02";
    let usage = fixture.admin().get(path).await.ok(200);
    let quotas = usage["quotas"].as_array().cloned().unwrap_or_default();
    let one = quotas.iter().find(|one| one["quota"] == quota)?;
    one["used"].as_u64()
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_bytes_are_limited_until_an_erasure() {
    let fixture = fixture(|_| (), |_| ()).await;
    let of = |id: &str| session(&fixture, id, "192.0.2.1");
    // Its compressed size would be far smaller.
    let large = json!({"metadata": {"k": "x".repeat(20_000)}});
    let before = usage(&fixture, "stored_bytes").await.unwrap();
    begin(&of("owner-a"), &large).await;
    let one = eventually("rows of a conversation", || async {
        let stored = usage(&fixture, "stored_bytes").await? - before;
        (stored > 0).then_some(stored)
    })
    .await;
    assert!((20_512..21_000).contains(&one), "{one}");

    set(&fixture, "owner", "stored_bytes", Some(2 * one)).await;
    let client = of("owner-b");
    begin(&client, &large).await;
    begin(&client, &large).await;
    let bound = 2 * one - 1;
    set(&fixture, "owner", "stored_bytes", Some(bound)).await;
    let client = of("owner-c");
    let chat = begin(&client, &large).await;
    let refused = client.post("/api/chats", &large).await;
    check_refused(&refused, ("owner", "stored_bytes"), bound);

    // At an exceeded quota, requests that add to a chat are rejected, and removals are not.
    set(&fixture, "owner", "stored_bytes", Some(one)).await;
    let path = format!("/api/chats/{chat}");
    let messages = format!("{path}/messages");
    let message = client.post(&messages, &json!({"content": "x"})).await;
    check_refused(&message, ("owner", "stored_bytes"), one);
    let title = client.patch(&path, &json!({"title": "x"})).await;
    check_refused(&title, ("owner", "stored_bytes"), one);
    let stored = eventually("rows of four conversations", || async {
        usage(&fixture, "stored_bytes").await.filter(|stored| *stored == before + 4 * one)
    })
    .await;
    client.erase(&path).await;
    eventually("rows without the erased chat", || async {
        (usage(&fixture, "stored_bytes").await? == stored - one).then_some(())
    })
    .await;
    begin(&client, &large).await;
}
