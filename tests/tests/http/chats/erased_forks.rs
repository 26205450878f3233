//! Erasures of conversations with forks: no readable history is lost without its owner's request.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};

use crate::fixture::{Fixture, begin, ids, text};

/// Rounds of races between forks and erasures of a chat, and forks of a round.
const ROUNDS: usize = 8;
const FORKS: usize = 4;

async fn fork(client: &HttpClient, chat: &str) -> String {
    let path = format!("/api/chats/{chat}/fork");
    let forked = client.post(&path, &json!({})).await.ok(201);
    text(&forked, "id").to_owned()
}

fn path(chat: &str) -> String {
    format!("/api/chats/{chat}")
}

/// Erases a chat, and repeats the request until all of it is erased: 202 while commits are left.
async fn erase(client: &HttpClient, path: &str) {
    eventually(&format!("the erasure of {path}"), || async {
        let answer = client.delete(path).await;
        (answer.status != 202).then(|| answer.ok(204))
    })
    .await;
}

async fn statuses(client: &HttpClient, chats: &[&str]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for chat in chats {
        statuses.push(client.get(&path(chat)).await.status);
    }
    statuses
}

/// Checks that an erasure is rejected because of forks; returns their number and the listed ids.
fn rejected_forks(answer: &Answer) -> (String, Value) {
    assert_eq!(answer.status_and_code(), (409, "HAS_FORKS".to_owned()));
    let facts = answer.json()["metadata"].clone();
    (text(&facts, "forks").to_owned(), facts["fork_ids"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_are_erased_only_on_request() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let child = fork(&session, &chat).await;
    fixture.agent.append(&child, vec![user("the fork's")]).await;
    let grandchild = fork(&session, &child).await;
    let all = [chat.as_str(), &child, &grandchild];
    let expected = ("2".to_owned(), json!(format!("{child},{grandchild}")));
    for query in ["", "?forks=refuse"] {
        let answer = session.delete(&format!("{}{query}", path(&chat))).await;
        assert_eq!(rejected_forks(&answer), expected, "{query}");
    }
    let unknown = session.delete(&format!("{}?forks=all", path(&chat))).await;
    assert_eq!(unknown.status_and_code(), (400, "FIELD_MALFORMED".to_owned()));
    assert_eq!(statuses(&session, &all).await, [200; 3]);
    let whole = format!("{}?forks=erase", path(&chat));
    erase(&session, &whole).await;
    assert_eq!(statuses(&session, &all).await, [404; 3]);
    eventually("a listing without them", || async {
        let page = session.get("/api/chats").await.ok(200);
        ids(&page).is_empty().then_some(())
    })
    .await;
    assert_eq!(session.delete(&whole).await.status, 404);
    for round in 0..ROUNDS {
        race_forks_with_erasures(&session, round).await;
    }
}

/// Races forks with erasures: every acknowledged fork is readable, or was erased on its owner's request.
async fn race_forks_with_erasures(session: &HttpClient, round: usize) {
    let chat = begin(session, &json!({})).await;
    let forking = (0..FORKS).map(|_| {
        let path = format!("{}/fork", path(&chat));
        async move {
            let answer = session.post(&path, &json!({})).await;
            (answer.status == 201).then(|| text(&answer.json(), "id").to_owned())
        }
    });
    // Rounds with one of the two rules, and with both.
    let rules = ["", "?forks=erase", "?forks=refuse", "?forks=erase"];
    let erasing = rules.iter().skip(round % rules.len()).take(2).map(|rule| {
        let path = format!("{}{rule}", path(&chat));
        async move {
            let status = session.delete(&path).await.status;
            assert!([204, 202, 404, 409, 503].contains(&status), "{status}");
        }
    });
    let (forks, _) = tokio::join!(join_all(forking), join_all(erasing));
    for fork in forks.into_iter().flatten() {
        let read = session.get(&path(&fork)).await.status;
        // A fork that is unreadable but not erased could still be erased.
        let is_erased = read == 404 && session.delete(&path(&fork)).await.status == 404;
        assert!(read == 200 || is_erased, "{fork} of {chat}: {read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_of_other_owners_are_kept() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let chat = begin(&session, &json!({})).await;
    let own = fork(&session, &chat).await;
    let claim = json!({"sessionId": session.session_id()});
    ada.post("/api/sessions/claim", &claim).await.ok(200);
    let theirs = fork(&ada, &own).await;
    for chat in [&chat, &own] {
        let release = json!({"chatId": chat, "sessionId": session.session_id()});
        ada.post("/api/sessions/release", &release).await.ok(204);
    }
    for query in ["", "?forks=erase"] {
        let answer = session.delete(&format!("{}{query}", path(&chat))).await;
        let expected = ("2".to_owned(), json!(own));
        assert_eq!(rejected_forks(&answer), expected, "{query}");
        let text = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(!text.contains(&theirs), "{text}");
    }
    let of_fork = session.delete(&path(&own)).await;
    assert_eq!(rejected_forks(&of_fork), ("1".to_owned(), Value::Null));
    assert_eq!(statuses(&session, &[&chat, &own]).await, [200; 2]);
    assert_eq!(statuses(&ada, &[&theirs]).await, [200]);
    erase(&ada, &path(&theirs)).await;
    let whole = format!("{}?forks=erase", path(&chat));
    erase(&session, &whole).await;
    assert_eq!(statuses(&session, &[&chat, &own]).await, [404; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn erasures_wait_until_forks_are_known() {
    let mut fixture = Fixture::own().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    fixture.agent.wait_for_rows(&chat, 1).await;
    fixture.stack.projector.stop().await;
    let child = fork(&session, &chat).await;
    let answer = session.delete(&path(&chat)).await;
    assert_eq!(answer.status_and_code(), (503, "READ_MODEL_UNAVAILABLE".to_owned()));
    assert!(answer.json()["retry_after_ms"].is_u64(), "{}", answer.json());
    assert_eq!(statuses(&session, &[&chat, &child]).await, [200; 2]);
    fixture.stack.projector.start().await;
    let answer = eventually("rows that hold the fork", || async {
        let answer = session.delete(&path(&chat)).await;
        (answer.status != 503).then_some(answer)
    })
    .await;
    assert_eq!(rejected_forks(&answer), ("1".to_owned(), json!(child)));
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_of_erased_parents_can_be_erased() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s");
    let chat = begin(&session, &json!({})).await;
    let child = fork(&session, &chat).await;
    fixture.agent.append(&child, vec![user("the fork's")]).await;
    let target = fixture.agent.target(&chat);
    fixture.agent.try_erase(target).await.unwrap();
    assert_eq!(statuses(&session, &[&chat, &child]).await, [404; 2]);
    let foreign = fixture.session("t").delete(&path(&child)).await;
    assert_eq!(foreign.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    erase(&session, &path(&child)).await;
    let again = session.delete(&path(&child)).await;
    assert_eq!(again.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    eventually("a listing without it", || async {
        let page = session.get("/api/chats").await.ok(200);
        ids(&page).is_empty().then_some(())
    })
    .await;
}
