//! Sessions that a user claims.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::events::{assistant, session as session_of, user};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::parts::text;
use uuid::Uuid;
use wire::proto::operate::v1::IdentityMode;

use crate::fixture::{Fixture, begin, ids, list, text as text_of};

async fn claim(user: &HttpClient, session: &HttpClient) -> Value {
    let body = json!({"sessionId": session.session_id()});
    user.post("/api/sessions/claim", &body).await.ok(200)
}

/// The owner of a session's conversations.
async fn owner_of(session: &HttpClient) -> String {
    let chat = begin(session, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    let owner = session.get(&path).await.ok(200)["owner"].clone();
    session.erase(&path).await;
    text_of(&owner, "sessionId").to_owned()
}

async fn owner(clients: &[(&'static str, &HttpClient)], chat: &str) -> Vec<&'static str> {
    let mut owners = Vec::new();
    for (name, client) in clients {
        if client.get(&format!("/api/chats/{chat}")).await.status == 200 {
            owners.push(*name);
        }
    }
    owners
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_claimed_and_released() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let clients = [("session", &session), ("ada", &ada)];
    let mut chats = Vec::new();
    for _ in 0..5 {
        chats.push(begin(&session, &json!({})).await);
    }
    let archived = format!("/api/chats/{}", chats[0]);
    session.patch(&archived, &json!({"archived": true})).await.ok(200);
    let other = begin(&fixture.session("t"), &json!({})).await;
    let foreign = fixture.stack.http_client().with("x-api-key", &fixture.other_key.secret);
    let of_other_agent = begin(&foreign.with("x-session-id", "s"), &json!({})).await;
    assert_eq!(claim(&ada, &session).await, json!({"claimed": 5, "pending": false}));
    for chat in &chats {
        assert_eq!(owner(&clients, chat).await, ["ada"]);
    }
    assert_eq!(ada.get(&format!("/api/chats/{other}")).await.status, 404);
    assert_eq!(ada.get(&format!("/api/chats/{of_other_agent}")).await.status, 404);
    assert_eq!(claim(&ada, &session).await, json!({"claimed": 0, "pending": false}));
    let released = json!({"chatId": chats[1], "sessionId": session.session_id()});
    ada.post("/api/sessions/release", &released).await.ok(204);
    assert_eq!(owner(&clients, &chats[1]).await, ["session"]);
    let again = ada.post("/api/sessions/release", &released).await;
    assert_eq!(again.status_and_code(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    assert_eq!(claim(&ada, &session).await, json!({"claimed": 1, "pending": false}));
    eventually("listings that follow", || async {
        let mut theirs = ids(&ada.get("/api/chats").await.ok(200));
        let none = ids(&session.get("/api/chats").await.ok(200));
        theirs.sort();
        let mut expected = chats.clone();
        expected.sort();
        (theirs == expected && none.is_empty()).then_some(())
    })
    .await;
}

/// A name stays with its conversation when the owner changes. Of several with one name, each is found by the record's id.
#[tokio::test(flavor = "multi_thread")]
async fn claimed_names_lead_the_user_to_the_conversations() {
    let fixture = Fixture::new().await;
    let ada = fixture.user("ada");
    let mut recorded = Vec::new();
    for title in ["one", "two"] {
        let session = fixture.issued_session().await;
        let created = session.post("/api/chats", &json!({"id": "cart", "title": title})).await.ok(201);
        recorded.push(text_of(&created, "recordId").to_owned());
        assert_eq!(claim(&ada, &session).await, json!({"claimed": 1, "pending": false}));
        assert_eq!(session.get("/api/chats/cart").await.status, 404);
        let found = ada.get("/api/chats/cart").await.ok(200);
        assert!(recorded.iter().any(|id| *id == found["recordId"]), "{found}");
    }
    for (id, title) in recorded.iter().zip(["one", "two"]) {
        assert_eq!(ada.get(&format!("/api/chats/{id}")).await.ok(200)["title"], title);
    }
    let again = ada.post("/api/chats", &json!({"id": "cart"})).await;
    assert_eq!(again.status_and_code(), (409, "CONVERSATION_EXISTS".to_owned()));
    assert_eq!(fixture.user("ben").get("/api/chats/cart").await.status, 404);
    recorded.sort();
    eventually("a list with both", || async {
        let mut listed = ids(&ada.get("/api/chats").await.ok(200));
        listed.sort();
        (listed == recorded).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unprojected_conversations_are_claimed_later() {
    let mut fixture = Fixture::own().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let before = begin(&session, &json!({})).await;
    fixture.agent.wait_for_rows(&before, 1).await;
    fixture.stack.projector.stop().await;
    let in_flight = begin(&session, &json!({})).await;
    assert_eq!(claim(&ada, &session).await, json!({"claimed": 1, "pending": true}));
    assert_eq!(ada.get(&format!("/api/chats/{before}")).await.status, 200);
    assert_eq!(ada.get(&format!("/api/chats/{in_flight}")).await.status, 404);
    fixture.stack.projector.start().await;
    eventually("a claim that is whole", || async {
        let claimed = claim(&ada, &session).await;
        (claimed["pending"] == json!(false)).then_some(())
    })
    .await;
    assert_eq!(ada.get(&format!("/api/chats/{in_flight}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_continue_during_a_claim() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let chat = begin(&session, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    let run = Uuid::now_v7().to_string();
    let start = fixture.agent.start_request(&chat, &run, vec![user("question")]);
    fixture.agent.try_start(start).await.unwrap();
    assert_eq!(claim(&ada, &session).await, json!({"claimed": 1, "pending": false}));
    assert_eq!(ada.get(&path).await.ok(200)["activeRunId"], json!(run));
    let parts = fixture.agent.parts_request(&chat, &run, 0, vec![text(1, "answer")]);
    fixture.agent.try_parts(parts).await.unwrap();
    let finish = fixture.agent.finish_request(&chat, &run, vec![assistant("answer")]);
    fixture.agent.try_finish(finish).await.unwrap();
    let done = ada.get(&path).await.ok(200);
    assert_eq!(done["activeRunId"], Value::Null);
    let messages = list(&done, "messages");
    assert_eq!((messages.len(), &messages[1]["id"]), (2, &json!(run)));
    assert_eq!(session.get(&path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_claims_assign_each_conversation_once() {
    let fixture = Fixture::new().await;
    let session = fixture.issued_session().await;
    let mut chats = Vec::new();
    for _ in 0..30 {
        chats.push(begin(&session, &json!({})).await);
    }
    let users = [("ada", fixture.user("ada")), ("bob", fixture.user("bob"))];
    let clients = [0, 1, 0, 1, 0, 1].map(|user: usize| &users[user].1);
    let claims = join_all(clients.map(|client| claim(client, &session))).await;
    let claimed: Vec<u64> = claims.iter().map(|claim| claim["claimed"].as_u64().unwrap()).collect();
    assert_eq!(claimed.iter().sum::<u64>(), 30, "{claimed:?}");
    let clients = users.each_ref().map(|(name, client)| (*name, client));
    let mut of_ada = 0;
    for chat in &chats {
        let owners = owner(&clients, chat).await;
        assert_eq!(owners.len(), 1, "{chat} {owners:?}");
        of_ada += u64::from(owners == ["ada"]);
    }
    let by_ada: u64 = claimed.iter().step_by(2).sum();
    assert_eq!(by_ada, of_ada);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_without_users_reject_claims() {
    let fixture = Fixture::new().await;
    fixture.identity_mode(fixture.agent_id, IdentityMode::Issued).await;
    let ada = fixture.user("ada");
    let body = json!({"sessionId": fixture.issued_session().await.session_id()});
    eventually("a refusal", || async {
        let answer = ada.post("/api/sessions/claim", &body).await;
        (answer.status_and_code() == (403, "USERS_NOT_KNOWN".to_owned())).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_issued_sessions_can_be_claimed() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let owner = owner_of(&session).await;
    let foreign = fixture.stack.http_client().with("x-api-key", &fixture.other_key.secret).in_session().await;
    let check = async |client: &HttpClient, body: Value, expected: (u16, &str)| {
        let (status, code) = client.post("/api/sessions/claim", &body).await.status_and_code();
        assert_eq!((status, code.as_str()), expected, "{body}");
    };
    let invalid = (401, "SESSION_INVALID");
    // Also if the agent accepts any session ids, as here.
    check(&ada, json!({"sessionId": "s"}), invalid).await;
    check(&ada, json!({"sessionId": ""}), invalid).await;
    check(&ada, json!({"sessionId": owner}), invalid).await;
    check(&ada, json!({"sessionId": foreign.session_id()}), invalid).await;
    check(&ada, json!({}), (401, "SESSION_REQUIRED")).await;
    check(&ada, json!({"sessionId": session.session_id()}), (200, "")).await;
    let both = ada.with("x-session-id", session.session_id());
    check(&both, json!({}), (200, "")).await;
}

/// More than two pages of conversations. Those at the end are used during the claim of the earlier pages, and so move
/// to the front of the listing.
#[tokio::test(flavor = "multi_thread")]
async fn conversations_used_during_a_claim_are_claimed() {
    const CHATS: usize = 230;
    const USED: usize = 30;
    let fixture = Fixture::new().await;
    let ada = fixture.user("ada");
    let session = fixture.issued_session().await;
    let owner = session_of(&owner_of(&session).await);
    let chats: Vec<String> = (0..CHATS).map(|n| format!("c{n}")).collect();
    for chat in &chats {
        let mut request = fixture.agent.create_request(chat);
        request.owner = Some(owner.clone());
        fixture.agent.try_create(request).await.unwrap();
    }
    let use_them = async {
        for chat in &chats[..USED] {
            fixture.agent.append(chat, vec![user("still here")]).await;
        }
    };
    // On a busy machine, one call may time out; then the answer reports pending conversations.
    let claims = async {
        let mut claimed = 0;
        for _ in 0..20 {
            let result = claim(&ada, &session).await;
            claimed += result["claimed"].as_u64().expect("a number");
            if result["pending"] == false {
                return claimed;
            }
        }
        panic!("{claimed} are claimed, and more are reported")
    };
    let (claimed, ()) = futures::join!(claims, use_them);
    assert_eq!(usize::try_from(claimed), Ok(CHATS));
    for chat in &chats {
        let path = format!("/api/chats/{chat}");
        assert_eq!(ada.get(&path).await.status, 200, "{chat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn releases_with_a_key_happen_once_for_their_caller() {
    let fixture = Fixture::new().await;
    let (session, ada) = (fixture.issued_session().await, fixture.user("ada"));
    let chat = begin(&session, &json!({})).await;
    claim(&ada, &session).await;
    let other_session = fixture.issued_session().await;
    let key = Uuid::now_v7().to_string();
    let released = json!({"chatId": chat, "sessionId": session.session_id()});
    let release = async |user: &HttpClient, key: &str, body: &Value| {
        let keyed = user.with("idempotency-key", key);
        keyed.post("/api/sessions/release", body).await.status_and_code()
    };
    let missing = (404, "CONVERSATION_NOT_FOUND".to_owned());
    let done = (204, String::new());
    let bob = fixture.user("bob");
    assert_eq!(release(&bob, &key, &released).await, missing);
    assert_eq!(release(&ada, &key, &released).await, done);
    assert_eq!(release(&ada, &key, &released).await, done);
    // Another key, another caller, and another request with the key get no information.
    let other = Uuid::now_v7().to_string();
    assert_eq!(release(&ada, &other, &released).await, missing);
    assert_eq!(release(&bob, &key, &released).await, missing);
    let other_target = json!({"chatId": chat, "sessionId": other_session.session_id()});
    assert_eq!(release(&ada, &key, &other_target).await, missing);
    let of_none = json!({"chatId": "none", "sessionId": session.session_id()});
    assert_eq!(release(&ada, &key, &of_none).await, missing);
    assert_eq!(session.get(&format!("/api/chats/{chat}")).await.status, 200);
    // After she owns it again, the key counts as used, and a retry changes nothing.
    claim(&ada, &session).await;
    let reused = (409, "IDEMPOTENCY_KEY_REUSED".to_owned());
    assert_eq!(release(&ada, &key, &other_target).await, reused);
    assert_eq!(release(&ada, &key, &released).await, done);
    assert_eq!(ada.get(&format!("/api/chats/{chat}")).await.status, 200);
}
