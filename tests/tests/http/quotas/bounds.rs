//! Each quota at its bound and one past it, by the public endpoints.

use std::time::Duration;

use serde_json::{Value, json};
use tests::door::Door;
use tests::eventually::eventually;
use tonic::Code;
use tonic_types::StatusExt as _;

use super::ground::{bound, check_refused, ground, say, session, set};
use crate::ground::{Ground, begin};

/// Words that keep the slow model busy for a while.
const LONG: &str =
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen";

/// Starts a run and leaves it going; its chat.
async fn start(door: &Door) -> String {
    let chat = begin(door, &json!({})).await;
    let path = format!("/api/chats/{chat}/messages");
    let request = door.request(reqwest::Method::POST, &path);
    let answer = request
        .json(&json!({"content": LONG}))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    chat
}

async fn idle(door: &Door, chat: &str) {
    let path = format!("/api/chats/{chat}/stream");
    eventually("an answer's end", || async {
        (door.get(&path).await.status == 204).then_some(())
    })
    .await;
}

/// Two runs of callers that share a scope are allowed, a third is not until one of them is over.
async fn check_runs(ground: &Ground, scope: &str, doors: [Door; 3]) {
    set(ground, scope, "runs", Some(2)).await;
    let [first, second, third] = doors;
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
    set(ground, scope, "runs", Some(1_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_limited_in_every_scope() {
    let ground = ground(|_| (), |_| ()).await;
    let of = |id: &str, address: &str| session(&ground, id, address);
    let anyone = [("a", "192.0.2.1"), ("b", "192.0.2.2"), ("c", "192.0.2.3")];
    for scope in ["tenant", "agent", "key"] {
        check_runs(&ground, scope, anyone.map(|(id, at)| of(id, at))).await;
    }
    let same_owner = ["192.0.2.1", "192.0.2.2", "192.0.2.3"];
    check_runs(&ground, "owner", same_owner.map(|at| of("a", at))).await;
    let same_address = ["a", "b", "c"];
    check_runs(
        &ground,
        "address",
        same_address.map(|id| of(id, "192.0.2.9")),
    )
    .await;
}

fn tokens(answer: &Value) -> u64 {
    let count = |name: &str| answer["usage"][name].as_u64().unwrap();
    count("input_tokens") + count("output_tokens")
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_of_the_day_are_limited_for_stateless_turns_too() {
    let ground = ground(|_| (), |_| ()).await;
    let of = |id: &str| session(&ground, id, "192.0.2.1");
    let spent = tokens(&say(&of("measure"), "a b").await.ok(200));
    assert!(spent > 0);
    for (id, bound, allowed) in [("at", spent, 1), ("past", spent + 1, 2)] {
        set(&ground, "owner", "model_tokens_per_day", Some(bound)).await;
        for _ in 0..allowed {
            assert_eq!(say(&of(id), "a b").await.status, 200, "{id}");
        }
        let refused = say(&of(id), "a b").await;
        check_refused(&refused, ("owner", "model_tokens_per_day"), bound);
        let chat = begin(&of(id), &json!({})).await;
        let path = format!("/api/chats/{chat}/messages");
        let refused = of(id).post(&path, &json!({"content": "a b"})).await;
        check_refused(&refused, ("owner", "model_tokens_per_day"), bound);
        // Nobody else is refused.
        assert_eq!(say(&of(&format!("{id}-other")), "a b").await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cut_off_is_counted_all_the_same() {
    let ground = ground(|_| (), |_| ()).await;
    let door = session(&ground, "cutter", "192.0.2.1");
    set(&ground, "owner", "model_tokens_per_day", Some(1)).await;
    let body = json!({"message": LONG, "stream": true});
    let request = door.request(reqwest::Method::POST, "/v1/chat").json(&body);
    let mut answer = request.send().await.unwrap();
    answer.chunk().await.unwrap();
    drop(answer);
    eventually("a turn that is counted", || async {
        (say(&door, "x").await.status == 429).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conversations_are_limited() {
    let ground = ground(|_| (), |_| ()).await;
    set(&ground, "owner", "conversations", Some(2)).await;
    let door = session(&ground, "many", "192.0.2.1");
    // The owner's own are looked at once the agent has as many.
    for _ in 0..2 {
        begin(&door, &json!({})).await;
    }
    let refused = door.post("/api/chats", &json!({})).await;
    check_refused(&refused, ("owner", "conversations"), 2);
    let refused = door.post("/v1/chat/sessions", &json!({})).await;
    check_refused(&refused, ("owner", "conversations"), 2);
    begin(&session(&ground, "another", "192.0.2.1"), &json!({})).await;
    set(&ground, "tenant", "conversations", Some(0)).await;
    let another = session(&ground, "third", "192.0.2.1");
    let refused = another.post("/api/chats", &json!({})).await;
    check_refused(&refused, ("tenant", "conversations"), 0);
    set(&ground, "tenant", "conversations", Some(1_000)).await;
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
        check_status(&ground, of).await;
    }
}

/// Sets a quota to 0, and checks the details of the gRPC refusal.
async fn check_status(ground: &Ground, (scope, quota): (&str, &str)) {
    set(ground, scope, quota, Some(0)).await;
    let status = eventually("a writer that knows the quota", || async {
        let id = uuid::Uuid::now_v7().to_string();
        let created = ground.agent.try_create(ground.agent.create_request(&id));
        created.await.err()
    })
    .await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    let details = status.get_error_details();
    let info = details.error_info().unwrap();
    assert_eq!(info.reason, "QUOTA_EXCEEDED");
    let told = ["scope", "quota", "bound"].map(|name| info.metadata[name].as_str());
    assert_eq!(told, [scope, quota, "0"]);
    assert!(info.metadata["used"].parse::<u64>().is_ok(), "{info:?}");
    let failure = details.quota_failure().unwrap();
    let violations = failure.violations.iter();
    let violations = violations.map(|one| (one.subject.as_str(), one.description.as_str()));
    let expected = (scope, format!("{quota}: 0"));
    assert!(
        violations.eq([(expected.0, expected.1.as_str())]),
        "{failure:?}"
    );
    let retry = details.retry_info().and_then(|retry| retry.retry_delay);
    assert!(
        retry.is_some_and(|retry| retry >= Duration::from_millis(100)),
        "{retry:?}"
    );
    set(ground, scope, quota, Some(1_000_000_000)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appended_bytes_are_limited() {
    let ground = ground(|_| (), |_| ()).await;
    let door = session(&ground, "writer", "192.0.2.1");
    // Commits are counted as they are stored, compressed: random digits keep half of their size.
    let random = || -> String {
        let texts = (0..1_250).map(|_| uuid::Uuid::new_v4().simple().to_string());
        texts.collect()
    };
    let large = || json!({"metadata": {"k": random()}});
    set(&ground, "owner", "appended_bytes_per_minute", Some(30_000)).await;
    let id = begin(&door, &large()).await;
    let refused = door.post("/api/chats", &large()).await;
    check_refused(&refused, ("owner", "appended_bytes_per_minute"), 30_000);
    begin(&session(&ground, "other", "192.0.2.1"), &large()).await;
    // What removes something is never refused.
    assert!(door.delete(&format!("/api/chats/{id}")).await.status < 300);
    assert_eq!(
        bound(&door, "owner", "appended_bytes_per_minute").await,
        Some(30_000)
    );
}

/// What the tenant uses of a quota, as its administrators see it.
async fn used(ground: &Ground, quota: &str) -> Option<u64> {
    let path = "/v1/admin/usage?from=2026-01-01&to=2026-01-02";
    let usage = ground.admin().get(path).await.ok(200);
    let quotas = usage["quotas"].as_array().cloned().unwrap_or_default();
    let one = quotas.iter().find(|one| one["quota"] == quota)?;
    one["used"].as_u64()
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_bytes_are_limited_until_something_is_erased() {
    let ground = ground(|_| (), |_| ()).await;
    let of = |id: &str| session(&ground, id, "192.0.2.1");
    // Compressed, it would be far smaller.
    let large = json!({"metadata": {"k": "x".repeat(20_000)}});
    let before = used(&ground, "stored_bytes").await.unwrap();
    begin(&of("owner-a"), &large).await;
    let one = eventually("rows of a conversation", || async {
        let stored = used(&ground, "stored_bytes").await? - before;
        (stored > 0).then_some(stored)
    })
    .await;
    assert!((20_512..21_000).contains(&one), "{one}");

    set(&ground, "owner", "stored_bytes", Some(2 * one)).await;
    let door = of("owner-b");
    begin(&door, &large).await;
    begin(&door, &large).await;
    let bound = 2 * one - 1;
    set(&ground, "owner", "stored_bytes", Some(bound)).await;
    let door = of("owner-c");
    let chat = begin(&door, &large).await;
    let refused = door.post("/api/chats", &large).await;
    check_refused(&refused, ("owner", "stored_bytes"), bound);

    // Whatever adds to a chat is refused at a quota that is used up, and what removes something is not.
    set(&ground, "owner", "stored_bytes", Some(one)).await;
    let path = format!("/api/chats/{chat}");
    let messages = format!("{path}/messages");
    let message = door.post(&messages, &json!({"content": "x"})).await;
    check_refused(&message, ("owner", "stored_bytes"), one);
    let title = door.patch(&path, &json!({"title": "x"})).await;
    check_refused(&title, ("owner", "stored_bytes"), one);
    let stored = eventually("rows of four conversations", || async {
        used(&ground, "stored_bytes")
            .await
            .filter(|stored| *stored == before + 4 * one)
    })
    .await;
    assert!(door.delete(&path).await.status < 300);
    eventually("rows without the erased chat", || async {
        (used(&ground, "stored_bytes").await? == stored - one).then_some(())
    })
    .await;
    begin(&door, &large).await;
}
