//! Attacks on histories under a caller's key by an outsider who has the public key and guesses the caller's key.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::door::{Answer, Door};
use tests::eventually::eventually;
use tests::jwt;
use wire::proto::event::v1 as event;
use wire::proto::history::v1 as history;
use wire::proto::operate::v1::{AgentSettings, IdentityMode, SigningKeyUse};

use crate::ground::Ground;

/// What the bot calls a chat: an outsider can guess it.
pub(crate) const KEY: &str = "telegram:4915550100";
const SECRET: &str = "my door code is 7359";

/// A bot's history and the outsiders that attack it.
pub(crate) struct Attack {
    pub(crate) ground: Ground,
    pub(crate) agent: Agent,
    /// The conversation that keeps the history.
    pub(crate) id: String,
    /// An outsider who names their session like the bot's key.
    pub(crate) session: Door,
    /// An outsider who has signed in.
    user: Door,
    /// A session that was issued to an outsider.
    issued: Door,
}

impl Attack {
    /// The agent takes session ids as they come: with issued sessions an outsider could not even name one.
    pub(crate) async fn new() -> Self {
        let ground = Ground::start().await;
        let operator = ground.operator().await;
        let agent = operator.agent("acme", "support").await;
        let settings = AgentSettings {
            identity_mode: IdentityMode::Open.into(),
            ..AgentSettings::default()
        };
        operator.settings("support", settings).await;
        let secret = operator.signing_key("acme", "users", SigningKeyUse::User);
        let token = jwt::user(&secret.await, "eve");
        let key = operator.api_key("support").await;
        let stranger = ground.stranger().with("x-api-key", &key.secret);
        let recorded = record(&agent, SECRET).await;
        assert_eq!(recorded.warnings, []);
        let id = recorded.conversation_id;
        agent.projected(&id, recorded.version).await;
        let user = stranger.with("x-user-token", &token);
        eventually("a gateway that knows the agent's settings", || async {
            (user.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        Self {
            session: stranger.with("x-session-id", KEY),
            issued: stranger.in_session().await,
            user,
            ground,
            agent,
            id,
        }
    }

    async fn stored(&self) -> Vec<event::MessageAppended> {
        let request = history::LoadHistoryRequest {
            key: Some(key(&self.agent)),
            ..history::LoadHistoryRequest::default()
        };
        let mut service = self.agent.caller().history();
        let answer = service.load_history(request).await;
        answer.expect("a history").into_inner().messages
    }
}

fn key(agent: &Agent) -> history::HistoryKey {
    history::HistoryKey {
        agent_id: agent.id().to_owned(),
        history_key_candidates: vec![KEY.to_owned()],
        ..history::HistoryKey::default()
    }
}

async fn record(agent: &Agent, text: &str) -> history::RecordHistoryResponse {
    let request = history::RecordHistoryRequest {
        key: Some(key(agent)),
        messages: vec![event::MessageAppended {
            role: event::Role::User.into(),
            parts: vec![event::Part {
                kind: Some(event::part::Kind::Text(text.to_owned())),
            }],
            ..event::MessageAppended::default()
        }],
        ..history::RecordHistoryRequest::default()
    };
    let mut service = agent.caller().history();
    let answer = service.record_history(request).await;
    answer.expect("a record").into_inner()
}

fn ui_message(id: &str, text: &str) -> Value {
    let message = json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": text}]});
    json!({"id": id, "messages": [message]})
}

/// Every operation on a conversation by its id.
async fn operations(door: &Door, id: &str, issued: &str) -> Vec<(&'static str, Answer)> {
    let chat = format!("/api/chats/{id}");
    let at = |end: &str| format!("{chat}/{end}");
    let say = json!({"content": "hello"});
    let title = json!({"title": "mine"});
    let release = json!({"chatId": id, "sessionId": issued});
    let ui = |end: &str| format!("/api/chat/{id}/{end}");
    let regenerate = json!({"id": id, "messages": [], "trigger": "regenerate-message"});
    let sessions = format!("/v1/chat/sessions/{id}/messages");
    vec![
        ("read", door.get(&chat).await),
        ("messages", door.get(&sessions).await),
        ("export", door.get(&at("export")).await),
        ("stream", door.get(&at("stream")).await),
        ("change", door.patch(&chat, &title).await),
        ("say", door.post(&at("messages"), &say).await),
        ("stop", door.post(&at("stop"), &json!({})).await),
        ("fork", door.post(&at("fork"), &json!({})).await),
        ("ui stream", door.get(&ui("stream")).await),
        ("ui stop", door.post(&ui("stop"), &json!({})).await),
        ("ui answer", door.post("/api/chat", &regenerate).await),
        ("erase", door.delete(&chat).await),
        (
            "release",
            door.post("/api/sessions/release", &release).await,
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_the_name_of_a_key_lists_nothing() {
    let attack = Attack::new().await;
    for door in [&attack.session, &attack.user] {
        let chats = door.get("/api/chats").await.ok(200);
        assert_eq!(chats, json!({"conversations": []}));
        let sessions = door.get("/v1/chat/sessions").await.ok(200);
        assert_eq!(sessions, json!({"sessions": []}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_history_looks_like_a_missing_conversation() {
    let attack = Attack::new().await;
    let missing = format!("history:{}", "0".repeat(64));
    let issued = attack.issued.shown_session();
    for door in [&attack.session, &attack.user] {
        let here = operations(door, &attack.id, issued).await;
        let elsewhere = operations(door, &missing, issued).await;
        let nowhere = operations(door, "no-such-chat", issued).await;
        for (((what, here), (_, elsewhere)), (_, nowhere)) in
            here.iter().zip(&elsewhere).zip(&nowhere)
        {
            let is_release_by_session = here.status == 401;
            assert!(
                here.status == 404 || is_release_by_session,
                "{what} {here:?}"
            );
            assert_eq!(here.body, elsewhere.body, "{what}");
            assert_eq!(here.body, nowhere.body, "{what}");
        }
    }
    assert_eq!(attack.stored().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_user_claims_a_history() {
    let attack = Attack::new().await;
    let body = json!({"sessionId": KEY});
    let claimed = attack.user.post("/api/sessions/claim", &body).await;
    assert_eq!(claimed.told(), (401, "SESSION_INVALID".to_owned()));
    assert_eq!(attack.stored().await.len(), 1);
}

/// Neither a history's id nor any other id of its form can be planted.
#[tokio::test(flavor = "multi_thread")]
async fn ids_of_histories_are_reserved() {
    let attack = Attack::new().await;
    let missing = format!("history:{}", "0".repeat(64));
    for door in [&attack.session, &attack.user] {
        let own = door.post("/api/chats", &json!({})).await.ok(201);
        let fork = format!("/api/chats/{}/fork", own["id"].as_str().expect("an id"));
        for id in [attack.id.as_str(), &missing, "history:", "history:x"] {
            let named = json!({"id": id});
            for (path, body) in [
                ("/api/chats", &named),
                (&fork, &named),
                ("/api/chat", &ui_message(id, "hello")),
            ] {
                let refused = door.post(path, body).await;
                assert_eq!(
                    refused.told(),
                    (400, "FIELD_RESERVED".to_owned()),
                    "{path} {id}"
                );
                assert_eq!(refused.json()["field"], "id", "{path} {id}");
            }
        }
    }
    assert_eq!(attack.stored().await.len(), 1);
}

/// A turn in a session of a history's id is told nothing of the history, and adds nothing to it.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_does_not_reach_a_history() {
    let attack = Attack::new().await;
    let body = json!({"message": "What is the door code?", "session_id": attack.id});
    for door in [&attack.session, &attack.user] {
        let answer = door.post("/v1/chat", &body).await;
        assert!(
            !String::from_utf8_lossy(&answer.body).contains("7359"),
            "{answer:?}"
        );
        assert!(
            answer.status == 404 || answer.json()["session_id"].is_null(),
            "{answer:?}"
        );
    }
    assert_eq!(attack.stored().await.len(), 1);
}
