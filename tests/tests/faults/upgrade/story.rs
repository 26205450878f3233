//! Conversations with every kind of event, and the answers about them.

use domain::{ConversationId, ConversationKey, TenantId};
use serde_json::json;
use tests::agent::Agent;
use tests::checker::Reading;
use tests::events::{
    assistant, call, document_deleted, document_put, error, note, result, rewind, summary, user, user_owner,
};
use tests::eventually::eventually;
use tests::http_client::HttpClient;
use tests::operator::Operator;
use tests::parts::{end, text};
use tokio::join;
use uuid::Uuid;
use wire::proto::event::v1::{ForkPoint, RunOutcome};
use wire::proto::write::v1::{ChangeOwnerRequest, CreateConversationRequest};

use crate::fixture::OTHER_TENANT;
use crate::verdict::read_all;

/// The conversations of one agent that was made for them, and the first answers about them.
pub(crate) struct Story {
    agent: Agent,
    conversations: Vec<ConversationKey>,
    readings: Vec<Reading>,
}

impl Story {
    /// Records a conversation with every kind of event, a fork of it and a chat, and reads them.
    pub(crate) async fn write(operator: &Operator, frontend: &HttpClient, name: &str) -> Self {
        let agent = operator.agent(OTHER_TENANT, name).await;
        let fork = format!("{name}-fork");
        let key = operator.api_key(name).await;
        let frontend = frontend.with("x-api-key", &key.secret);
        let ((), chat) = join!(record(&agent, name, &fork), chat_in(&frontend));
        let conversations = [name, &fork, &chat].map(key_of).to_vec();
        let mut story = Self { agent, conversations, readings: Vec::new() };
        story.readings = story.read(&story.agent).await;
        story
    }

    /// Its agent, at the gateway of the stack.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// The first answers.
    pub(crate) fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// The answers of this agent's gateway.
    pub(crate) async fn read(&self, agent: &Agent) -> Vec<Reading> {
        read_all(agent, self.conversations.iter().cloned()).await
    }
}

fn key_of(conversation: &str) -> ConversationKey {
    ConversationKey {
        tenant: TenantId::parse(OTHER_TENANT).unwrap(),
        conversation: ConversationId::parse(conversation).unwrap(),
    }
}

/// Records every kind of event, and a fork.
async fn record(agent: &Agent, name: &str, fork: &str) {
    append(agent, name).await;
    run(agent, name).await;
    change(agent, name).await;
    fork_at(agent, name, 4, fork).await;
}

async fn append(agent: &Agent, name: &str) {
    agent.create(name).await;
    let events = vec![user("question"), assistant("answer"), note("n"), error("e")];
    agent.append(name, events).await;
    agent.append(name, vec![call("c", "{}")]).await;
    agent.append(name, vec![result("c", "{}")]).await;
    agent.append(name, vec![summary(3, "a question")]).await;
    let puts = vec![document_put("k", "1"), document_put("other", "[2]")];
    agent.append(name, puts).await;
    agent.append(name, vec![document_deleted("k")]).await;
    let last = agent.version(name).await;
    agent.append(name, vec![user("a typo")]).await;
    agent.append(name, vec![rewind(last), user("again")]).await;
}

/// A run with parts, whose stop is requested.
async fn run(agent: &Agent, name: &str) {
    let run = Uuid::now_v7().to_string();
    let start = agent.start_request(name, &run, vec![user("go")]);
    agent.try_start(start).await.expect("a run");
    let parts = agent.parts_request(name, &run, 0, vec![text(1, "so far"), end(2, RunOutcome::Completed)]);
    agent.try_parts(parts).await.expect("parts");
    let stop = agent.stop_request(name, &run);
    agent.try_stop(stop).await.expect("a request to stop");
    let finish = agent.finish_request(name, &run, vec![assistant("so far")]);
    agent.try_finish(finish).await.expect("the end of a run");
}

/// Changes the conversation itself.
async fn change(agent: &Agent, name: &str) {
    let mut update = agent.update_request(name, &["title"]);
    update.title = "Titel".to_owned();
    agent.try_update(update).await.expect("a title");
    let owner = ChangeOwnerRequest {
        target: Some(agent.target(name)),
        owner: Some(user_owner("somebody")),
        expected_owner: None,
    };
    agent.caller().write().change_owner(owner).await.expect("another owner");
    agent.try_archive(agent.target(name)).await.expect("closed");
    agent.try_restore(agent.target(name)).await.expect("open");
}

async fn fork_at(agent: &Agent, parent: &str, version: u64, fork: &str) {
    let request = CreateConversationRequest {
        forked_from: Some(ForkPoint { conversation_id: parent.to_owned(), version, depth: 0 }),
        ..agent.create_request(fork)
    };
    agent.try_create(request).await.expect("a fork");
    agent.append(fork, vec![user("in the fork")]).await;
}

/// A chat through the gateway, whose runs it makes at the writer.
async fn chat_in(frontend: &HttpClient) -> String {
    let client = frontend.in_session().await;
    // An id that the service has issued means the same at both releases.
    let chat = client.post("/api/chats", &json!({})).await.ok(201)["id"].as_str().expect("an id").to_owned();
    let parts = json!([{"type": "text", "text": "hello"}]);
    let body = json!({"id": chat, "messages": [{"id": "m", "role": "user", "parts": parts}]});
    let answer = client.post("/api/chat", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let stream = format!("/api/chats/{chat}/stream");
    eventually("the end of an answer", || async { (client.get(&stream).await.status == 204).then_some(()) }).await;
    chat
}
