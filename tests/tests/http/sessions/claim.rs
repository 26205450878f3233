//! Sessions that turn out to be a user's.

use futures::future::join_all;
use serde_json::{Value, json};
use tests::door::Door;
use tests::events::{assistant, session as session_of, user};
use tests::eventually::eventually;
use tests::parts::text;
use uuid::Uuid;
use wire::proto::operate::v1::IdentityMode;

use crate::ground::{AGENT, Ground, begin, ids, list, text as text_of};

async fn claim(user: &Door, session: &Door) -> Value {
    let body = json!({"sessionId": session.shown_session()});
    user.post("/api/sessions/claim", &body).await.ok(200)
}

/// The owner that a session's conversations have.
async fn owner_of(session: &Door) -> String {
    let chat = begin(session, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    let owner = session.get(&path).await.ok(200)["owner"].clone();
    session.delete(&path).await.ok(204);
    text_of(&owner, "sessionId").to_owned()
}

async fn owner(doors: &[(&'static str, &Door)], chat: &str) -> Vec<&'static str> {
    let mut owners = Vec::new();
    for (name, door) in doors {
        if door.get(&format!("/api/chats/{chat}")).await.status == 200 {
            owners.push(*name);
        }
    }
    owners
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_becomes_the_users_and_back() {
    let ground = Ground::new().await;
    let (session, ada) = (ground.issued().await, ground.user("ada"));
    let doors = [("session", &session), ("ada", &ada)];
    let mut chats = Vec::new();
    for _ in 0..5 {
        chats.push(begin(&session, &json!({})).await);
    }
    let archived = format!("/api/chats/{}", chats[0]);
    session
        .patch(&archived, &json!({"archived": true}))
        .await
        .ok(200);
    let other = begin(&ground.session("t"), &json!({})).await;
    let foreign = ground
        .stack
        .door()
        .with("x-api-key", &ground.other_key.secret);
    let of_other_agent = begin(&foreign.with("x-session-id", "s"), &json!({})).await;
    assert_eq!(
        claim(&ada, &session).await,
        json!({"claimed": 5, "pending": false})
    );
    for chat in &chats {
        assert_eq!(owner(&doors, chat).await, ["ada"]);
    }
    assert_eq!(ada.get(&format!("/api/chats/{other}")).await.status, 404);
    assert_eq!(
        ada.get(&format!("/api/chats/{of_other_agent}"))
            .await
            .status,
        404
    );
    assert_eq!(
        claim(&ada, &session).await,
        json!({"claimed": 0, "pending": false})
    );
    let released = json!({"chatId": chats[1], "sessionId": session.shown_session()});
    ada.post("/api/sessions/release", &released).await.ok(204);
    assert_eq!(owner(&doors, &chats[1]).await, ["session"]);
    let again = ada.post("/api/sessions/release", &released).await;
    assert_eq!(again.told(), (404, "CONVERSATION_NOT_FOUND".to_owned()));
    assert_eq!(
        claim(&ada, &session).await,
        json!({"claimed": 1, "pending": false})
    );
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

#[tokio::test(flavor = "multi_thread")]
async fn what_the_rows_do_not_hold_yet_is_claimed_later() {
    let mut ground = Ground::new().await;
    let (session, ada) = (ground.issued().await, ground.user("ada"));
    let before = begin(&session, &json!({})).await;
    ground.agent.projected(&before, 1).await;
    ground.stack.projector.stop().await;
    let in_flight = begin(&session, &json!({})).await;
    assert_eq!(
        claim(&ada, &session).await,
        json!({"claimed": 1, "pending": true})
    );
    assert_eq!(ada.get(&format!("/api/chats/{before}")).await.status, 200);
    assert_eq!(
        ada.get(&format!("/api/chats/{in_flight}")).await.status,
        404
    );
    ground.stack.projector.start().await;
    eventually("a claim that is whole", || async {
        let claimed = claim(&ada, &session).await;
        (claimed["pending"] == json!(false)).then_some(())
    })
    .await;
    assert_eq!(
        ada.get(&format!("/api/chats/{in_flight}")).await.status,
        200
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_while_its_conversation_changes_hands() {
    let ground = Ground::new().await;
    let (session, ada) = (ground.issued().await, ground.user("ada"));
    let chat = begin(&session, &json!({})).await;
    let path = format!("/api/chats/{chat}");
    let run = Uuid::now_v7().to_string();
    let start = ground
        .agent
        .start_request(&chat, &run, vec![user("question")]);
    ground.agent.try_start(start).await.unwrap();
    assert_eq!(
        claim(&ada, &session).await,
        json!({"claimed": 1, "pending": false})
    );
    assert_eq!(ada.get(&path).await.ok(200)["activeRunId"], json!(run));
    let parts = vec![text(1, "answer")];
    let parts = ground.agent.parts_request(&chat, &run, 0, parts);
    ground.agent.try_parts(parts).await.unwrap();
    let finish = ground
        .agent
        .finish_request(&chat, &run, vec![assistant("answer")]);
    ground.agent.try_finish(finish).await.unwrap();
    let done = ada.get(&path).await.ok(200);
    assert_eq!(done["activeRunId"], Value::Null);
    let messages = list(&done, "messages");
    assert_eq!((messages.len(), &messages[1]["id"]), (2, &json!(run)));
    assert_eq!(session.get(&path).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_claims_at_once_gets_each_conversation_once() {
    let ground = Ground::new().await;
    let session = ground.issued().await;
    let mut chats = Vec::new();
    for _ in 0..30 {
        chats.push(begin(&session, &json!({})).await);
    }
    let users = [("ada", ground.user("ada")), ("bob", ground.user("bob"))];
    let doors = [0, 1, 0, 1, 0, 1].map(|user: usize| &users[user].1);
    let claims = join_all(doors.map(|door| claim(door, &session))).await;
    let claimed: Vec<u64> = claims
        .iter()
        .map(|claim| claim["claimed"].as_u64().unwrap())
        .collect();
    assert_eq!(claimed.iter().sum::<u64>(), 30, "{claimed:?}");
    let doors = users.each_ref().map(|(name, door)| (*name, door));
    let mut of_ada = 0;
    for chat in &chats {
        let owners = owner(&doors, chat).await;
        assert_eq!(owners.len(), 1, "{chat} {owners:?}");
        of_ada += u64::from(owners == ["ada"]);
    }
    let by_ada: u64 = claimed.iter().step_by(2).sum();
    assert_eq!(by_ada, of_ada);
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_that_know_no_users_take_no_claims() {
    let ground = Ground::new().await;
    ground.identity_mode(AGENT, IdentityMode::Issued).await;
    let ada = ground.user("ada");
    let body = json!({"sessionId": ground.issued().await.shown_session()});
    eventually("a refusal", || async {
        let answer = ada.post("/api/sessions/claim", &body).await;
        (answer.told() == (403, "USERS_NOT_KNOWN".to_owned())).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_sessions_that_were_issued_are_claimed() {
    let ground = Ground::new().await;
    let (session, ada) = (ground.issued().await, ground.user("ada"));
    let owner = owner_of(&session).await;
    let foreign = ground
        .stack
        .door()
        .with("x-api-key", &ground.other_key.secret);
    let foreign = foreign.in_session().await;
    let check = async |door: &Door, body: Value, expected: (u16, &str)| {
        let (status, code) = door.post("/api/sessions/claim", &body).await.told();
        assert_eq!((status, code.as_str()), expected, "{body}");
    };
    let invalid = (401, "SESSION_INVALID");
    // Also where the agent lets callers choose their sessions, as here.
    check(&ada, json!({"sessionId": "s"}), invalid).await;
    check(&ada, json!({"sessionId": ""}), invalid).await;
    check(&ada, json!({"sessionId": owner}), invalid).await;
    check(&ada, json!({"sessionId": foreign.shown_session()}), invalid).await;
    check(&ada, json!({}), (401, "SESSION_REQUIRED")).await;
    check(
        &ada,
        json!({"sessionId": session.shown_session()}),
        (200, ""),
    )
    .await;
    let both = ada.with("x-session-id", session.shown_session());
    check(&both, json!({}), (200, "")).await;
}

/// More than two pages of conversations, of which those at the end are used while the pages before them are taken over, and
/// so are listed first from then on.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_used_meanwhile_is_claimed_too() {
    const CHATS: usize = 230;
    const USED: usize = 30;
    let ground = Ground::new().await;
    let ada = ground.user("ada");
    let session = ground.issued().await;
    let owner = session_of(&owner_of(&session).await);
    let chats: Vec<String> = (0..CHATS).map(|n| format!("c{n}")).collect();
    for chat in &chats {
        let mut request = ground.agent.create_request(chat);
        request.owner = Some(owner.clone());
        ground.agent.try_create(request).await.unwrap();
    }
    let use_them = async {
        for chat in &chats[..USED] {
            ground.agent.append(chat, vec![user("still here")]).await;
        }
    };
    // A busy machine needs more than one call's time: then the answer says so.
    let claims = async {
        let mut claimed = 0;
        for _ in 0..20 {
            let told = claim(&ada, &session).await;
            claimed += told["claimed"].as_u64().expect("a number");
            if told["pending"] == false {
                return claimed;
            }
        }
        panic!("{claimed} are claimed, and more are said to be there")
    };
    let (claimed, ()) = futures::join!(claims, use_them);
    assert_eq!(usize::try_from(claimed), Ok(CHATS));
    for chat in &chats {
        let path = format!("/api/chats/{chat}");
        assert_eq!(ada.get(&path).await.status, 200, "{chat}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_under_its_key_is_done_once_for_the_one_who_asked() {
    let ground = Ground::new().await;
    let (session, ada) = (ground.issued().await, ground.user("ada"));
    let chat = begin(&session, &json!({})).await;
    claim(&ada, &session).await;
    let other_session = ground.issued().await;
    let key = Uuid::now_v7().to_string();
    let released = json!({"chatId": chat, "sessionId": session.shown_session()});
    let release = async |user: &Door, key: &str, body: &Value| {
        let keyed = user.with("idempotency-key", key);
        keyed.post("/api/sessions/release", body).await.told()
    };
    let missing = (404, "CONVERSATION_NOT_FOUND".to_owned());
    let done = (204, String::new());
    let bob = ground.user("bob");
    assert_eq!(release(&bob, &key, &released).await, missing);
    assert_eq!(release(&ada, &key, &released).await, done);
    assert_eq!(release(&ada, &key, &released).await, done);
    // Neither another key, nor another caller, nor another request under it learns anything.
    let other = Uuid::now_v7().to_string();
    assert_eq!(release(&ada, &other, &released).await, missing);
    assert_eq!(release(&bob, &key, &released).await, missing);
    let elsewhere = json!({"chatId": chat, "sessionId": other_session.shown_session()});
    assert_eq!(release(&ada, &key, &elsewhere).await, missing);
    let of_none = json!({"chatId": "none", "sessionId": session.shown_session()});
    assert_eq!(release(&ada, &key, &of_none).await, missing);
    assert_eq!(session.get(&format!("/api/chats/{chat}")).await.status, 200);
    // Once it is hers again, the key is told to be used, and a retry changes nothing.
    claim(&ada, &session).await;
    let reused = (409, "IDEMPOTENCY_KEY_REUSED".to_owned());
    assert_eq!(release(&ada, &key, &elsewhere).await, reused);
    assert_eq!(release(&ada, &key, &released).await, done);
    assert_eq!(ada.get(&format!("/api/chats/{chat}")).await.status, 200);
}
