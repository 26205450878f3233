//! The lifecycle of a conversation: create, read, change, list, erase.

use serde_json::{Value, json};
use tests::events::{assistant, user};
use tests::eventually::eventually;
use uuid::Uuid;

use crate::fixture::{Fixture, begin, ids, list, text};

#[tokio::test(flavor = "multi_thread")]
async fn created_chats_are_read_verbatim() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let body = r#"{"id": "chat:1", "agentId": "AGENT", "sessionId": "s", "title": "Hello",
        "context": {"pageUrl": "https://a.example/?q=1", "locale": "en-GB", "customMetadata": {"n": 1.10}},
        "metadata": {"b": 1e400, "a": [1, {"x": null}]}}"#
        .replace("AGENT", fixture.agent_id);
    let request =
        session.request(reqwest::Method::POST, "/api/chats").header("content-type", "application/json").body(body);
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 201);
    assert_eq!(answer.headers()["location"], "/api/chats/chat:1");
    let begun: Value = answer.json().await.unwrap();
    let record_id = begun["recordId"].as_str().unwrap();
    assert_eq!(begun, json!({"id": "chat:1", "chatId": "chat:1", "recordId": record_id}));
    assert!(record_id.starts_with("named:chat:1:"), "{begun}");
    // Administrators read it by the id of the record, and so does its owner.
    let recorded = fixture.admin().get(&format!("/v1/admin/conversations/{record_id}")).await.text();
    assert!(recorded.starts_with(&format!(r#"{{"id":"{record_id}","agentId""#)), "{recorded}");
    let chat = session.get(&format!("/api/chats/{record_id}")).await.text();
    assert!(chat.starts_with(&format!(r#"{{"id":"chat:1","recordId":"{record_id}""#)), "{chat}");
    let answer = session.get("/api/chats/chat:1").await;
    // Compared as text, because such a number is no valid JSON value in this test.
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    assert!(text.contains(r#""metadata":{"b": 1e400, "a": [1, {"x": null}]}"#), "{text}");
    assert!(text.contains(r#""customMetadata":{"n": 1.10}"#), "{text}");
    assert!(text.contains(r#""pageUrl":"https://a.example/?q=1""#), "{text}");
    assert!(text.contains(r#""title":"Hello","status":"active""#), "{text}");
    assert!(text.contains(r#""owner":{"sessionId":"s"}"#), "{text}");
    assert!(text.contains(r#""messages":[]"#), "{text}");
    let again = session.post("/api/chats", &json!({"id": "chat:1"})).await;
    assert_eq!(again.status_and_code(), (409, "CONVERSATION_EXISTS".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_visible_at_once() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let path = format!("/api/chats/{}", begin(&session, &json!({"title": "a"})).await);
    let check = async |change: Value, expected: (u16, &str, Value)| {
        let answer = session.patch(&path, &change).await;
        let (status, code) = answer.status_and_code();
        assert_eq!((status, code.as_str()), (expected.0, expected.1), "{change}");
        let now = session.get(&path).await.ok(200);
        let seen = json!([now["title"], now["status"], now["metadata"]]);
        assert_eq!(seen, expected.2, "{change}");
    };
    check(json!({}), (200, "", json!(["a", "active", null]))).await;
    check(json!({"title": "b"}), (200, "", json!(["b", "active", null]))).await;
    check(json!({"metadata": {"k": 1}}), (200, "", json!(["b", "active", {"k": 1}]))).await;
    check(json!({"title": null}), (200, "", json!([null, "active", {"k": 1}]))).await;
    let archived = json!({"archived": true, "title": "c", "metadata": null});
    check(archived, (200, "", json!(["c", "archived", null]))).await;
    let closed = (409, "CONVERSATION_ARCHIVED", json!(["c", "archived", null]));
    check(json!({"title": "d"}), closed).await;
    let restored = json!({"archived": false, "title": "d"});
    check(restored, (200, "", json!(["d", "active", null]))).await;
    let unknown = (400, "FIELD_UNKNOWN", json!(["d", "active", null]));
    check(json!({"systemPrompt": "x"}), unknown).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_with_a_key_get_the_first_answer() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let keyed = |key: Uuid| session.with("idempotency-key", &key.to_string());
    let key = Uuid::now_v7();
    let first = begin(&keyed(key), &json!({"title": "a"})).await;
    assert_eq!(begin(&keyed(key), &json!({"title": "a"})).await, first);
    let other = keyed(key).post("/api/chats", &json!({"title": "b"})).await;
    assert_eq!(other.status_and_code(), (409, "IDEMPOTENCY_KEY_REUSED".to_owned()));
    let malformed = session.with("idempotency-key", "x").post("/api/chats", &json!({})).await;
    assert_eq!(malformed.status_and_code(), (400, "IDEMPOTENCY_KEY_MALFORMED".to_owned()));
    let path = format!("/api/chats/{first}");
    let change = json!({"title": "b", "archived": true});
    let key = Uuid::now_v7();
    for _ in 0..2 {
        let changed = keyed(key).patch(&path, &change).await.ok(200);
        assert_eq!(json!([changed["title"], changed["version"]]), json!(["b", 3]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_chats_are_not_found() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let id = begin(&session, &json!({})).await;
    let path = format!("/api/chats/{id}");
    fixture.agent.append(&id, vec![user("secret")]).await;
    session.erase(&path).await;
    for answer in [session.delete(&path).await, session.get(&path).await] {
        assert_eq!(answer.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    }
    eventually("a listing without it", || async {
        let page = session.get("/api/chats").await.ok(200);
        ids(&page).is_empty().then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_caller_of_an_erasure_can_retry_it() {
    let fixture = Fixture::new().await;
    let (session, other) = (fixture.session("s"), fixture.session("t"));
    let erase = async |client: &tests::http_client::HttpClient, path: &str, key: &str| {
        let keyed = client.with("idempotency-key", key);
        keyed.delete(path).await.status_and_code()
    };
    let missing = (404, "CONVERSATION_NOT_FOUND".to_owned());
    let done = (204, String::new());
    for key in [Uuid::now_v7(), Uuid::new_v4()].map(|key| key.to_string()) {
        let path = format!("/api/chats/{}", begin(&session, &json!({})).await);
        assert_eq!(erase(&other, &path, &key).await, missing);
        session.with("idempotency-key", &key).erase(&path).await;
        assert_eq!(erase(&session, &path, &key).await, done);
        // Another key and another caller get no information.
        let fresh = Uuid::now_v7().to_string();
        assert_eq!(erase(&session, &path, &fresh).await, missing);
        assert_eq!(erase(&other, &path, &key).await, missing);
        assert_eq!(erase(&session, "/api/chats/none", &key).await, missing);
        assert_eq!(session.delete(&path).await.status_and_code(), missing);
    }
    // The key of another command erases nothing.
    let key = Uuid::now_v7().to_string();
    let id = begin(&session, &json!({})).await;
    let path = format!("/api/chats/{id}");
    let mut say = fixture.agent.append_request(&id, vec![user("hi")]);
    if let Some(target) = &mut say.target {
        target.idempotency_key.clone_from(&key);
    }
    fixture.agent.try_append(say).await.unwrap();
    let reused = (409, "IDEMPOTENCY_KEY_REUSED".to_owned());
    assert_eq!(erase(&session, &path, &key).await, reused);
    assert_eq!(session.get(&path).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_list_their_own_chats_in_pages() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.session("s"), fixture.user("ada"));
    let mut begun = Vec::new();
    for _ in 0..5 {
        begun.push(begin(&session, &json!({})).await);
        begin(&ada, &json!({})).await;
        begin(&fixture.session("t"), &json!({})).await;
    }
    begun.reverse();
    eventually("rows", || async {
        let page = session.get("/api/chats").await.ok(200);
        (ids(&page) == begun).then_some(())
    })
    .await;
    let (mut paged, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/api/chats?limit=2&cursor={cursor}");
        let page = session.get(&path).await.ok(200);
        paged.extend(ids(&page));
        match page["nextCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(paged, begun);
    let page = eventually("rows of hers", || async {
        let page = ada.get("/api/chats").await.ok(200);
        (list(&page, "conversations").len() >= 5).then_some(page)
    })
    .await;
    assert_eq!(list(&page, "conversations").len(), 5);
    let agents = list(&page, "conversations").iter().map(|one| text(one, "agentId"));
    assert!(agents.into_iter().all(|agent| agent == fixture.agent_id));
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_listings_return_the_reason() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    for _ in 0..3 {
        begin(&session, &json!({})).await;
    }
    let token = eventually("a next page", || async {
        let page = session.get("/api/chats?limit=2").await.ok(200);
        page["nextCursor"].as_str().map(str::to_owned)
    })
    .await;
    let check = async |client: &tests::http_client::HttpClient, path: &str, expected: (u16, &str)| {
        let (status, code) = client.get(path).await.status_and_code();
        assert_eq!((status, code.as_str()), expected, "{path}");
    };
    let others = format!("/api/chats?cursor={token}&status=archived");
    check(&session, &others, (400, "PAGE_TOKEN_OF_OTHER_QUERY")).await;
    check(&fixture.session("t"), &format!("/api/chats?cursor={token}"), (400, "PAGE_TOKEN_OF_OTHER_QUERY")).await;
    check(&session, "/api/chats?cursor=x", (400, "PAGE_TOKEN_INVALID")).await;
    check(&session, "/api/chats?limit=200", (200, "")).await;
    check(&session, "/api/chats?limit=201", (400, "FIELD_OUT_OF_RANGE")).await;
    check(&session, "/api/chats?status=erased", (400, "FIELD_MALFORMED")).await;
    let named = |client: tests::http_client::HttpClient| client.with("x-user-id", "ada");
    let by_name = named(fixture.frontend());
    check(&by_name, "/api/chats", (401, "USER_TOKEN_REQUIRED")).await;
    let bob = named(fixture.user("bob"));
    check(&bob, "/api/chats", (403, "USER_MISMATCH")).await;
    for query in ["sessionId=s", "session_id=s", "userId=ada", "user_id=ada"] {
        let path = format!("/api/chats?{query}");
        check(&session, &path, (400, "IDENTITY_IN_QUERY")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_shown_without_the_projector() {
    let mut fixture = Fixture::own().await;
    fixture.stack.projector.stop().await;
    let session = fixture.session("s");
    let id = begin(&session, &json!({})).await;
    fixture.agent.append(&id, vec![user("hi"), assistant("hello")]).await;
    let chat = session.get(&format!("/api/chats/{id}?include=events")).await.ok(200);
    let messages = list(&chat, "messages");
    assert_eq!(messages.len(), 2);
    assert_eq!(messages[0]["role"], "user");
    assert_eq!(messages[0]["parts"], json!([{"type": "text", "text": "hi"}]));
    assert_eq!(messages[1]["role"], "assistant");
    let kinds: Vec<&str> = list(&chat, "events").iter().map(|event| text(event, "type")).collect();
    assert_eq!(kinds, ["ConversationCreated", "MessageAppended", "MessageAppended"]);
}
