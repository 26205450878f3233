//! Erasing what others go on from: nothing that can be read is lost without its owner's say.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::door::{Answer, Door};
use tests::events::user;
use tests::eventually::eventually;

use crate::ground::{Ground, begin, ids, text};

/// Rounds in which forks and erasures of one chat meet, and forks of a round.
const ROUNDS: usize = 8;
const FORKS: usize = 4;

async fn fork(door: &Door, chat: &str) -> String {
    let path = format!("/api/chats/{chat}/fork");
    let forked = door.post(&path, &json!({})).await.ok(201);
    text(&forked, "id").to_owned()
}

fn path(chat: &str) -> String {
    format!("/api/chats/{chat}")
}

async fn statuses(door: &Door, chats: &[&str]) -> Vec<u16> {
    let mut statuses = Vec::new();
    for chat in chats {
        statuses.push(door.get(&path(chat)).await.status);
    }
    statuses
}

/// That an erasure is refused because of forks; how many there are, and which of them are named.
fn refused(answer: &Answer) -> (String, Value) {
    assert_eq!(answer.told(), (409, "HAS_FORKS".to_owned()));
    let facts = answer.json()["metadata"].clone();
    (text(&facts, "forks").to_owned(), facts["fork_ids"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn forks_go_only_where_they_are_told_to() {
    let ground = Ground::new().await;
    let session = ground.session("s");
    let chat = begin(&session, &json!({})).await;
    let child = fork(&session, &chat).await;
    ground.agent.append(&child, vec![user("the fork's")]).await;
    let grandchild = fork(&session, &child).await;
    let all = [chat.as_str(), &child, &grandchild];
    let expected = ("2".to_owned(), json!(format!("{child},{grandchild}")));
    for query in ["", "?forks=refuse"] {
        let answer = session.delete(&format!("{}{query}", path(&chat))).await;
        assert_eq!(refused(&answer), expected, "{query}");
    }
    let unknown = session.delete(&format!("{}?forks=all", path(&chat))).await;
    assert_eq!(unknown.told(), (400, "FIELD_MALFORMED".to_owned()));
    assert_eq!(statuses(&session, &all).await, [200; 3]);
    let whole = format!("{}?forks=erase", path(&chat));
    session.delete(&whole).await.ok(204);
    assert_eq!(statuses(&session, &all).await, [404; 3]);
    eventually("a listing without them", || async {
        let page = session.get("/api/chats").await.ok(200);
        ids(&page).is_empty().then_some(())
    })
    .await;
    assert_eq!(session.delete(&whole).await.status, 404);
    for round in 0..ROUNDS {
        forks_meet_erasures(&session, round).await;
    }
}

/// Every fork that was acknowledged can be read, or was erased by its owner's request: none has lost what it goes on from.
async fn forks_meet_erasures(session: &Door, round: usize) {
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
        // One that cannot be read, and is not erased, could be erased still.
        let is_erased = read == 404 && session.delete(&path(&fork)).await.status == 404;
        assert!(read == 200 || is_erased, "{fork} of {chat}: {read}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_of_somebody_else_is_kept() {
    let ground = Ground::new().await;
    let (session, ada) = (ground.issued().await, ground.user("ada"));
    let chat = begin(&session, &json!({})).await;
    let own = fork(&session, &chat).await;
    let claim = json!({"sessionId": session.shown_session()});
    ada.post("/api/sessions/claim", &claim).await.ok(200);
    let theirs = fork(&ada, &own).await;
    for chat in [&chat, &own] {
        let release = json!({"chatId": chat, "sessionId": session.shown_session()});
        ada.post("/api/sessions/release", &release).await.ok(204);
    }
    for query in ["", "?forks=erase"] {
        let answer = session.delete(&format!("{}{query}", path(&chat))).await;
        let expected = ("2".to_owned(), json!(own));
        assert_eq!(refused(&answer), expected, "{query}");
        let told = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(!told.contains(&theirs), "{told}");
    }
    let of_fork = session.delete(&path(&own)).await;
    assert_eq!(refused(&of_fork), ("1".to_owned(), Value::Null));
    assert_eq!(statuses(&session, &[&chat, &own]).await, [200; 2]);
    assert_eq!(statuses(&ada, &[&theirs]).await, [200]);
    ada.delete(&path(&theirs)).await.ok(204);
    let whole = format!("{}?forks=erase", path(&chat));
    session.delete(&whole).await.ok(204);
    assert_eq!(statuses(&session, &[&chat, &own]).await, [404; 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_goes_before_its_forks_can_be_told() {
    let mut ground = Ground::new().await;
    let session = ground.session("s");
    let chat = begin(&session, &json!({})).await;
    ground.agent.projected(&chat, 1).await;
    ground.stack.projector.stop().await;
    let child = fork(&session, &chat).await;
    let answer = session.delete(&path(&chat)).await;
    assert_eq!(answer.told(), (503, "READ_MODEL_UNAVAILABLE".to_owned()));
    assert!(
        answer.json()["retry_after_ms"].is_u64(),
        "{}",
        answer.json()
    );
    assert_eq!(statuses(&session, &[&chat, &child]).await, [200; 2]);
    ground.stack.projector.start().await;
    let answer = eventually("rows that hold the fork", || async {
        let answer = session.delete(&path(&chat)).await;
        (answer.status != 503).then_some(answer)
    })
    .await;
    assert_eq!(refused(&answer), ("1".to_owned(), json!(child)));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_owns_a_fork_of_what_is_gone_can_still_erase_it() {
    let ground = Ground::new().await;
    let session = ground.session("s");
    let chat = begin(&session, &json!({})).await;
    let child = fork(&session, &chat).await;
    ground.agent.append(&child, vec![user("the fork's")]).await;
    let target = ground.agent.target(&chat);
    ground.agent.try_erase(target).await.unwrap();
    assert_eq!(statuses(&session, &[&chat, &child]).await, [404; 2]);
    let foreign = ground.session("t").delete(&path(&child)).await;
    assert_eq!(foreign.told(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    session.delete(&path(&child)).await.ok(204);
    let again = session.delete(&path(&child)).await;
    assert_eq!(again.told(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    eventually("a listing without it", || async {
        let page = session.get("/api/chats").await.ok(200);
        ids(&page).is_empty().then_some(())
    })
    .await;
}
