//! A gateway whose nats-server is a follower that lags: whatever follows a write sees that write.
//!
//! The projectors are stopped, so that everything is read from the record. The follower is reached directly by the gateway,
//! and through slow routes by the leaders.

use std::time::Duration;

use domain::{ConversationId, ConversationKey, TenantId};
use event_log::Record;
use serde_json::{Value, json};
use tests::door::Door;
use tests::eventually::eventually;
use tests::model::{Model, Reply};
use uuid::Uuid;
use wire::proto::operate::v1 as proto;

use crate::ground::{AGENT, Ground, TENANT, Victim};
use crate::three::{Three, follower};

/// How long each message between the follower and the others is held up.
const DELAY: Duration = Duration::from_millis(300);
/// How many chats are tried.
const CHATS: usize = 4;
/// What the model answers.
const ANSWER: &str = "It is on its way.";
/// The name of the model server.
const MODEL: &str = "recorded";

/// A gateway on a follower, and a session at its HTTP listener.
struct Lagging {
    door: Door,
    model: Model,
    /// The names of the streams that the follower does not lead.
    followed: Vec<String>,
    record: Record,
}

impl Lagging {
    async fn start(three: &Three, ground: &mut Ground) -> (Self, usize) {
        let model = Model::start(|_| Reply::Text(ANSWER.to_owned())).await;
        let (slow, followed) = follower(ground).await;
        let gateway = &mut ground.stack.gateway;
        gateway.stop().await;
        gateway.settings.gateway.record.nats_url = three.url_of(slow);
        gateway.settings.gateway.models = serde_json::from_value(model.named(MODEL)).unwrap();
        gateway.start().await;
        let operator = ground.stack.operator().await;
        operator.settings(AGENT, settings()).await;
        let key = operator.api_key(AGENT).await;
        let door = ground.stack.door().with("x-api-key", &key.secret);
        let door = door.in_session().await;
        eventually("a gateway that knows the key", || async {
            (door.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        let lagging = Self {
            door,
            model,
            followed,
            record: ground.record().await,
        };
        (lagging, slow)
    }

    /// An id of a conversation whose stream is led by another server.
    fn id(&self) -> String {
        let is_followed = |id: &String| {
            let key = ConversationKey {
                tenant: TenantId::parse(TENANT).unwrap(),
                conversation: ConversationId::parse(id.clone()).unwrap(),
            };
            let stream = format!("HANSARD_{}", self.record.partition_of(&key).0);
            self.followed.contains(&stream)
        };
        let mut ids = std::iter::repeat_with(|| Uuid::now_v7().to_string());
        ids.find(is_followed).unwrap()
    }

    async fn begin(&self) -> String {
        let id = self.id();
        let begun = self.door.post("/api/chats", &json!({"id": id})).await;
        begun.ok(201);
        id
    }
}

fn settings() -> proto::AgentSettings {
    proto::AgentSettings {
        model: Some(proto::ModelSettings {
            server: MODEL.to_owned(),
            model: "m".to_owned(),
            ..proto::ModelSettings::default()
        }),
        ..proto::AgentSettings::default()
    }
}

/// The texts that the model was sent last, oldest first.
fn last_asked(model: &Model) -> Vec<String> {
    let asked = model.asked();
    let messages = asked.last().and_then(|asked| asked["messages"].as_array());
    let texts = messages.into_iter().flatten();
    texts
        .map(|message| message["content"].to_string())
        .collect()
}

/// Whether a chat shows a text.
fn shows(chat: &Value, text: &str) -> bool {
    chat["messages"].to_string().contains(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_a_write_sees_it_on_a_follower_that_lags() {
    let (three, mut ground) = Three::start().await;
    Box::pin(crate::ends::check(&three, &ground)).await;
    let (lagging, follower) = Lagging::start(&three, &mut ground).await;
    ground.kill(Victim::Projectors);
    let mut chats = Vec::new();
    for _ in 0..CHATS {
        let chat = lagging.begin().await;
        eventually("a chat that the follower knows", || async {
            let path = format!("/api/chats/{chat}");
            (lagging.door.get(&path).await.status == 200).then_some(())
        })
        .await;
        chats.push(chat);
    }
    three.slow(follower, DELAY);

    for (number, chat) in chats.iter().enumerate() {
        // The run's context holds the message that it answers.
        let text = format!("where is parcel {number}?");
        let path = format!("/api/chats/{chat}/messages");
        let answer = lagging.door.post(&path, &json!({"content": text})).await;
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        let asked = last_asked(&lagging.model);
        assert!(asked.iter().any(|said| said.contains(&text)), "{asked:?}");

        // A read with the answer's token holds what was said.
        let token = &answer.headers["x-position-token"];
        let fenced = lagging.door.with("x-position-token", token);
        let shown = fenced.get(&format!("/api/chats/{chat}")).await;
        let shown_token = shown.headers["x-position-token"].clone();
        let shown = shown.ok(200);
        assert!(shows(&shown, &text));
        // The stream has ended: so holds what the run finished with, though the token is of the run's beginning.
        assert!(shows(&shown, ANSWER), "{shown}");
        assert!(!shown_token.is_empty());
    }

    // What was just begun is there, also for a caller without a token.
    for _ in 0..CHATS {
        let chat = lagging.begin().await;
        let path = format!("/api/chats/{chat}");
        assert_eq!(lagging.door.get(&path).await.status, 200);
        let changed = lagging.door.patch(&path, &json!({"title": "Parcel"})).await;
        assert_eq!(changed.ok(200)["title"], "Parcel");
    }
    drop(lagging);
    drop(ground);
}
