//! A gateway whose nats-server is a lagging follower: every request after a write includes that write.
//!
//! The projectors are stopped, so that everything is read from the record. The gateway is connected directly to the
//! follower; routes from the leaders to it are slow.

use std::time::Duration;

use domain::{ConversationId, ConversationKey, Partition, TenantId};
use event_log::Record;
use serde_json::{Value, json};
use tests::events::user;
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::model::{Model, Reply};
use wire::proto::operate::v1 as proto;
use wire::proto::read::v1 as read;

use crate::fixture::{AGENT, FaultTarget, Fixture, TENANT};
use crate::three_servers::{ThreeServers, follower};

/// The delay of each message between the follower and the others.
const DELAY: Duration = Duration::from_millis(300);
/// The number of chats.
const CHATS: usize = 4;
/// The model's answer.
const ANSWER: &str = "It is on its way.";
/// The name of the model server.
const MODEL: &str = "recorded";

/// A gateway with a follower, and a session at its HTTP listener.
struct LaggingGateway {
    client: HttpClient,
    model: Model,
    /// The names of the streams that other servers lead.
    followed: Vec<String>,
    record: Record,
}

impl LaggingGateway {
    async fn start(three: &ThreeServers, fixture: &mut Fixture) -> (Self, usize) {
        let model = Model::start(|_| Reply::Text(ANSWER.to_owned())).await;
        let (slow, followed) = follower(fixture).await;
        let gateway = &mut fixture.stack.gateway;
        gateway.stop().await;
        gateway.settings.gateway.record.nats_url = three.url_of(slow);
        gateway.settings.gateway.models = serde_json::from_value(model.settings_as(MODEL)).unwrap();
        gateway.start().await;
        let operator = fixture.stack.operator().await;
        operator.settings(AGENT, settings()).await;
        let key = operator.api_key(AGENT).await;
        let client = fixture.stack.http_client().with("x-api-key", &key.secret).in_session().await;
        eventually("a gateway that knows the key", || async {
            (client.get("/api/chats/none").await.status == 404).then_some(())
        })
        .await;
        let lagging = Self { client, model, followed, record: fixture.record().await };
        (lagging, slow)
    }

    /// A new conversation whose stream another server leads.
    async fn begin(&self) -> String {
        loop {
            let created = self.client.post("/api/chats", &json!({})).await.ok(201);
            let id = created["id"].as_str().unwrap().to_owned();
            if self.is_followed(&id) {
                return id;
            }
        }
    }

    fn is_followed(&self, id: &str) -> bool {
        let key = ConversationKey {
            tenant: TenantId::parse(TENANT).unwrap(),
            conversation: ConversationId::parse(id).unwrap(),
        };
        self.followed.contains(&format!("HANSARD_{}", only_partition(&self.record, &key)))
    }
}

/// The partition of a conversation of a record that has not grown.
fn only_partition(record: &Record, key: &ConversationKey) -> Partition {
    record.layout().only_candidate(key).expect("one candidate")
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

/// The texts of the last model request, oldest first.
fn last_asked(model: &Model) -> Vec<String> {
    let texts_of_request = model.requests();
    let messages = texts_of_request.last().and_then(|texts_of_request| texts_of_request["messages"].as_array());
    let texts = messages.into_iter().flatten();
    texts.map(|message| message["content"].to_string()).collect()
}

/// Whether a chat contains a text.
fn contains_text(chat: &Value, text: &str) -> bool {
    chat["messages"].to_string().contains(text)
}

/// Reads a chat until it contains the run's answer.
async fn wait_for_answer(client: &HttpClient, chat: &str) {
    eventually("the run's answer", || async {
        let shown = client.get(&format!("/api/chats/{chat}")).await.ok(200);
        contains_text(&shown, ANSWER).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_after_writes_are_current_on_a_lagging_follower() {
    let (three, mut fixture) = ThreeServers::start().await;
    Box::pin(crate::stream_ends::check(&three, &fixture)).await;
    let (lagging, follower) = LaggingGateway::start(&three, &mut fixture).await;
    fixture.kill(FaultTarget::Projectors);
    let mut chats = Vec::new();
    for _ in 0..CHATS {
        let chat = lagging.begin().await;
        eventually("a chat that the follower knows", || async {
            let path = format!("/api/chats/{chat}");
            (lagging.client.get(&path).await.status == 200).then_some(())
        })
        .await;
        chats.push(chat);
    }
    three.slow(follower, DELAY);

    for (number, chat) in chats.iter().enumerate() {
        // The run's context contains the message that it answers.
        let text = format!("where is parcel {number}?");
        let path = format!("/api/chats/{chat}/messages");
        let answer = lagging.client.post(&path, &json!({"content": text})).await;
        assert_eq!(answer.status, 200, "{:?}", answer.body);
        let texts_of_request = last_asked(&lagging.model);
        assert!(texts_of_request.iter().any(|asked| asked.contains(&text)), "{texts_of_request:?}");

        // A read with the answer's token contains the message.
        let token = &answer.headers["x-position-token"];
        let fenced = lagging.client.with("x-position-token", token);
        let shown = fenced.get(&format!("/api/chats/{chat}")).await;
        let shown_token = shown.headers["x-position-token"].clone();
        let shown = shown.ok(200);
        assert!(contains_text(&shown, &text));
        assert!(!shown_token.is_empty());
        // The stream has ended, so reads contain the run's answer soon, though the token is older.
        wait_for_answer(&fenced, chat).await;

        // A read from the leader contains what anybody has written, without a token.
        let appended = fixture.agent.append(chat, vec![user("and this?")]).await;
        let target =
            read::ReadTarget { consistency: read::Consistency::Leader.into(), ..fixture.agent.read_target(chat) };
        let request = read::ListEventsRequest {
            target: Some(target),
            from_version: appended.version,
            ..read::ListEventsRequest::default()
        };
        let page = fixture.agent.try_events(request).await.expect("a page");
        let versions: Vec<u64> = page.events.iter().map(|event| event.version).collect();
        assert_eq!(versions, [appended.version]);
    }

    // A new chat exists also for a caller without a token.
    for _ in 0..CHATS {
        let chat = lagging.begin().await;
        let path = format!("/api/chats/{chat}");
        assert_eq!(lagging.client.get(&path).await.status, 200);
        let changed = lagging.client.patch(&path, &json!({"title": "Parcel"})).await;
        assert_eq!(changed.ok(200)["title"], "Parcel");
    }
    drop(lagging);
    drop(fixture);
}
