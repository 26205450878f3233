//! `hansard.run.v1.RunService`.

mod access;
mod archive_and_erasure;
mod bad_fields;
mod crash;
mod finish_races;
mod lifecycle;
mod live_parts;
mod logs;
mod order;
mod retries;

use domain::{ConversationId, ConversationKey, RunId, TenantId};
use event_log::Record;
use tests::agent::Agent;
use tests::events::user;
use tests::parts::text;
use tests::stack::Stack;
use uuid::Uuid;
use wire::proto::run::v1::Part;
use wire::proto::write::v1::CommitResult;

/// A run of the conversation `c`, as its maker knows it.
#[derive(Debug, Clone)]
struct Run {
    agent: Agent,
    id: String,
    /// The sequence of its last parts.
    sequence: u64,
    /// The number of its next part.
    next: u64,
}

const CONVERSATION: &str = "c";

impl Run {
    /// Starts another run of the conversation.
    async fn start(agent: &Agent) -> Self {
        let id = Uuid::now_v7().to_string();
        let request = agent.start_request(CONVERSATION, &id, vec![user("question")]);
        agent.try_start(request).await.expect("a started run");
        Self { agent: agent.clone(), id, sequence: 0, next: 1 }
    }

    /// A conversation and its first run.
    async fn begin(stack: &Stack) -> Self {
        let agent = stack.any_agent().await;
        agent.create(CONVERSATION).await;
        Self::start(&agent).await
    }

    /// The same run by another caller.
    fn with_agent(&self, agent: Agent) -> Self {
        Self { agent, ..self.clone() }
    }

    /// Publishes parts after the last ones.
    async fn try_publish(&self, parts: Vec<Part>) -> Result<u64, tonic::Status> {
        let agent = &self.agent;
        let request = agent.parts_request(CONVERSATION, &self.id, self.sequence, parts);
        agent.try_parts(request).await
    }

    /// Publishes parts after the last ones, and updates the position.
    async fn publish(&mut self, parts: Vec<Part>) -> u64 {
        let count = u64::try_from(parts.len()).expect("a count");
        self.sequence = self.try_publish(parts).await.expect("published parts");
        self.next += count;
        self.sequence
    }

    /// Publishes one delta of text.
    async fn say(&mut self, words: &str) -> u64 {
        let part = text(self.next, words);
        self.publish(vec![part]).await
    }

    async fn stop(&self) -> CommitResult {
        let request = self.agent.stop_request(CONVERSATION, &self.id);
        self.agent.try_stop(request).await.expect("a stop")
    }

    async fn finish(&self) -> CommitResult {
        let events = vec![tests::events::assistant("answer")];
        let request = self.agent.finish_request(CONVERSATION, &self.id, events);
        self.agent.try_finish(request).await.expect("a finish")
    }

    /// Its key in the record. Agents of tests are named like their tenants.
    fn place(&self) -> (ConversationKey, RunId) {
        let tenant = self.agent.id().replacen("a-", "t-", 1);
        let key = ConversationKey {
            tenant: TenantId::parse(tenant).expect("a tenant"),
            conversation: ConversationId::parse(CONVERSATION).expect("a conversation"),
        };
        (key, RunId::parse(&self.id).expect("a run"))
    }

    async fn active(&self) -> String {
        self.agent.conversation(CONVERSATION).await.active_run_id
    }
}

/// The record of a stack, to read parts from.
async fn record_of(stack: &Stack) -> Record {
    Record::open(tests::settings::record(&stack.servers)).await.expect("the record")
}
