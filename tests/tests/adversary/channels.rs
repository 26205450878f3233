//! Attacks on histories with a caller's key, by an outsider who has the public key and guesses the caller's key.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::eventually::eventually;
use tests::http_client::{Answer, HttpClient};
use tests::jwt;
use wire::proto::event::v1 as event;
use wire::proto::history::v1 as history;
use wire::proto::operate::v1::{AgentSettings, IdentityMode, SigningKeyUse};

use crate::fixture::Fixture;

/// The bot's key of a chat, which an outsider can guess.
pub(crate) const KEY: &str = "telegram:4915550100";
const SECRET: &str = "my door code is 7359";

/// A bot's history and its attackers.
pub(crate) struct Attack {
    pub(crate) fixture: Fixture,
    pub(crate) agent: Agent,
    /// The conversation of the history.
    pub(crate) id: String,
    /// An outsider whose session id is the bot's key.
    pub(crate) session: HttpClient,
    /// An outsider who is a signed-in user.
    user: HttpClient,
    /// An outsider with an issued session.
    issued: HttpClient,
}

impl Attack {
    /// The agent accepts any session ids; with issued sessions an outsider could not choose one.
    pub(crate) async fn new() -> Self {
        let fixture = Fixture::start().await;
        let operator = fixture.operator().await;
        let agent = operator.agent("acme", "support").await;
        let settings = AgentSettings { identity_mode: IdentityMode::Open.into(), ..AgentSettings::default() };
        operator.settings("support", settings).await;
        let secret = operator.signing_key("acme", "users", SigningKeyUse::User);
        let token = jwt::user(&secret.await, "eve");
        let key = operator.api_key("support").await;
        let stranger = fixture.stranger().with("x-api-key", &key.secret);
        let recorded = record(&agent, SECRET).await;
        assert_eq!(recorded.warnings, []);
        let id = recorded.conversation_id;
        agent.wait_for_rows(&id, recorded.version).await;
        let user = stranger.with("x-user-token", &token);
        eventually("a gateway that knows the agent's settings", || async {
            (user.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        Self {
            session: stranger.with("x-session-id", KEY),
            issued: stranger.in_session().await,
            user,
            fixture,
            agent,
            id,
        }
    }

    async fn load_messages(&self) -> Vec<event::MessageAppended> {
        let request =
            history::LoadHistoryRequest { key: Some(key(&self.agent)), ..history::LoadHistoryRequest::default() };
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
            parts: vec![event::Part { kind: Some(event::part::Kind::Text(text.to_owned())) }],
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
async fn operations(client: &HttpClient, id: &str, issued: &str) -> Vec<(&'static str, Answer)> {
    let chat = format!("/api/chats/{id}");
    let at = |end: &str| format!("{chat}/{end}");
    let say = json!({"content": "hello"});
    let title = json!({"title": "mine"});
    let release = json!({"chatId": id, "sessionId": issued});
    let ui = |end: &str| format!("/api/chat/{id}/{end}");
    let regenerate = json!({"id": id, "messages": [], "trigger": "regenerate-message"});
    let sessions = format!("/v1/chat/sessions/{id}/messages");
    vec![
        ("read", client.get(&chat).await),
        ("messages", client.get(&sessions).await),
        ("export", client.get(&at("export")).await),
        ("stream", client.get(&at("stream")).await),
        ("change", client.patch(&chat, &title).await),
        ("say", client.post(&at("messages"), &say).await),
        ("stop", client.post(&at("stop"), &json!({})).await),
        ("fork", client.post(&at("fork"), &json!({})).await),
        ("ui stream", client.get(&ui("stream")).await),
        ("ui stop", client.post(&ui("stop"), &json!({})).await),
        ("ui answer", client.post("/api/chat", &regenerate).await),
        ("erase", client.delete(&chat).await),
        ("release", client.post("/api/sessions/release", &release).await),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_named_like_a_key_list_nothing() {
    let attack = Attack::new().await;
    for client in [&attack.session, &attack.user] {
        let chats = client.get("/api/chats").await.ok(200);
        assert_eq!(chats, json!({"conversations": []}));
        let sessions = client.get("/v1/chat/sessions").await.ok(200);
        assert_eq!(sessions, json!({"sessions": []}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn histories_look_like_missing_conversations() {
    let attack = Attack::new().await;
    let missing = format!("history:{}", "0".repeat(64));
    let issued = attack.issued.session_id();
    for client in [&attack.session, &attack.user] {
        let actual = operations(client, &attack.id, issued).await;
        let missing_history = operations(client, &missing, issued).await;
        let missing_chat = operations(client, "no-such-chat", issued).await;
        for (((what, actual), (_, missing_history)), (_, missing_chat)) in
            actual.iter().zip(&missing_history).zip(&missing_chat)
        {
            let is_release_by_session = actual.status == 401;
            assert!(actual.status == 404 || is_release_by_session, "{what} {actual:?}");
            assert_eq!(actual.body, missing_history.body, "{what}");
            assert_eq!(actual.body, missing_chat.body, "{what}");
        }
    }
    assert_eq!(attack.load_messages().await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_cannot_claim_histories() {
    let attack = Attack::new().await;
    let body = json!({"sessionId": KEY});
    let claimed = attack.user.post("/api/sessions/claim", &body).await;
    assert_eq!(claimed.status_and_code(), (401, "SESSION_INVALID".to_owned()));
    assert_eq!(attack.load_messages().await.len(), 1);
}

/// Nobody can create a conversation with a history's id or any other id of its form.
#[tokio::test(flavor = "multi_thread")]
async fn history_ids_are_reserved() {
    let attack = Attack::new().await;
    let missing = format!("history:{}", "0".repeat(64));
    for client in [&attack.session, &attack.user] {
        let own = client.post("/api/chats", &json!({})).await.ok(201);
        let fork = format!("/api/chats/{}/fork", own["id"].as_str().expect("an id"));
        for id in [attack.id.as_str(), &missing, "history:", "history:x"] {
            let named = json!({"id": id});
            for (path, body) in [("/api/chats", &named), (&fork, &named), ("/api/chat", &ui_message(id, "hello"))] {
                let refused = client.post(path, body).await;
                assert_eq!(refused.status_and_code(), (400, "FIELD_RESERVED".to_owned()), "{path} {id}");
                assert_eq!(refused.json()["field"], "id", "{path} {id}");
            }
        }
    }
    assert_eq!(attack.load_messages().await.len(), 1);
}

/// A turn in a session with a history's id neither reads the history nor appends to it.
#[tokio::test(flavor = "multi_thread")]
async fn turns_do_not_read_histories() {
    let attack = Attack::new().await;
    let body = json!({"message": "What is the door code?", "session_id": attack.id});
    for client in [&attack.session, &attack.user] {
        let answer = client.post("/v1/chat", &body).await;
        assert!(!String::from_utf8_lossy(&answer.body).contains("7359"), "{answer:?}");
        assert!(answer.status == 404 || answer.json()["session_id"].is_null(), "{answer:?}");
    }
    assert_eq!(attack.load_messages().await.len(), 1);
}
