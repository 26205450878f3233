//! A conversation that tests use through gateways.

use std::time::Duration;

use conversations::quotas::account::{Account, RequestSource};
use domain::{
    AgentId, ConversationId, ConversationKey, Fact, Lifecycle, RecordedEvent, RunId, RunOutcome, RunPart, RunPartKind,
    TenantId,
};
use event_log::Record;
use futures::StreamExt as _;
use generation::{FollowItem, RunKey, Start, StartAt, StartedRun};
use history::{Bounds, Deadline, Direction, Freshness, Page, Range, Target, decode};
use record_access::writer::WriterService;
use registry::Scope;
use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;
use wire::proto::event::v1::{Owner, owner};
use wire::proto::write::v1 as write;
use wire::proto::write::v1::write_service_client::WriteServiceClient;
use wire::status::Problem;

use crate::node::Node;
use crate::stack::{DEADLINE, Stack, TENANT, answered_by, shared};
use crate::texts::{new_event, part, text_of, user};

/// A conversation.
#[derive(Clone)]
pub(crate) struct Chat<'s> {
    pub(crate) agent: AgentId,
    pub(crate) key: ConversationKey,
    stack: &'s Stack,
}

impl<'s> Chat<'s> {
    /// A conversation with an agent that this model server answers.
    pub(crate) async fn answered_by(stack: &'s Stack, server: &str) -> Self {
        let agent = stack.agent(answered_by(server)).await;
        Self::begin(stack, &agent).await
    }

    /// Begins a conversation of an agent.
    pub(crate) async fn begin(stack: &'s Stack, agent: &AgentId) -> Self {
        let chat = Self {
            agent: agent.clone(),
            key: ConversationKey {
                tenant: TenantId::parse(TENANT).unwrap(),
                conversation: ConversationId::parse(Uuid::now_v7().to_string()).unwrap(),
            },
            stack,
        };
        let request = write::CreateConversationRequest {
            agent_id: agent.as_str().to_owned(),
            conversation_id: chat.key.conversation.as_str().to_owned(),
            owner: Some(Owner { kind: Some(owner::Kind::SessionId("s".to_owned())) }),
            ..write::CreateConversationRequest::default()
        };
        let mut writer = chat.writer();
        writer.create_conversation(request).await.unwrap();
        chat
    }

    /// The record with this conversation.
    pub(crate) fn record(&self) -> &Record {
        &self.stack.record
    }

    /// Erases it.
    pub(crate) async fn erase(&self) {
        let request = write::EraseConversationRequest {
            target: Some(write::CommandTarget {
                agent_id: self.agent.as_str().to_owned(),
                conversation_id: self.key.conversation.as_str().to_owned(),
                ..write::CommandTarget::default()
            }),
            expected_owner: None,
            forks: write::ForkRule::Sever.into(),
        };
        self.writer().erase_conversation(request).await.unwrap();
    }

    fn writer(&self) -> WriteServiceClient<WriterService> {
        self.stack.writer().write(DEADLINE)
    }

    pub(crate) fn run_key(&self, run: RunId) -> RunKey {
        RunKey { agent: self.agent.clone(), key: self.key.clone(), run }
    }

    /// Sends a message, which starts a run on a gateway.
    pub(crate) async fn say(&self, node: &Node, text: &str) -> StartedRun {
        self.start(node, vec![user(text)]).await.unwrap()
    }

    pub(crate) async fn start(&self, node: &Node, facts: Vec<Fact>) -> Result<StartedRun, Problem> {
        self.start_with(node, facts, |_| ()).await
    }

    pub(crate) async fn start_with(
        &self,
        node: &Node,
        facts: Vec<Fact>,
        change: impl FnOnce(&mut Start),
    ) -> Result<StartedRun, Problem> {
        let access = self.target(node).await.access;
        let account = Account::of(&access, None, &RequestSource::default());
        let events = facts.into_iter().map(new_event).collect();
        let mut start = Start::new(account, self.key.clone(), events, StartAt::AnyVersion);
        change(&mut start);
        let generations = node.generations.clone();
        node.within(async move { generations.start(start).await }).await
    }

    pub(crate) async fn stop(&self, node: &Node, run: RunId) {
        let (generations, key) = (node.generations.clone(), self.run_key(run));
        let stopping = async move { generations.stop(&key).await };
        node.within(stopping).await.unwrap();
    }

    /// All items that a follower receives from a part.
    pub(crate) async fn follow(&self, node: &Node, run: RunId, from: u64) -> Vec<FollowItem> {
        let (generations, key) = (node.generations.clone(), self.key.clone());
        let following = async move {
            let stream = generations.follow(&key, run, from).await.unwrap();
            timeout(DEADLINE, stream.collect()).await
        };
        node.within(following).await.expect("the run ends in time")
    }

    /// The parts of a run that a follower receives, each once and in order.
    pub(crate) async fn parts(&self, node: &Node, run: RunId, from: u64) -> Vec<RunPart> {
        let items = self.follow(node, run, from).await;
        let parts: Vec<RunPart> = items.into_iter().map(part).collect();
        for (expected, part) in (from..).zip(&parts) {
            assert_eq!(part.number, expected, "no gap, no repeat");
        }
        parts
    }

    /// Waits until the text of the run has at least this many words.
    pub(crate) async fn wait_for_words(&self, node: &Node, run: RunId, words: usize) {
        let mut text = String::new();
        let has_words = move |part: RunPart| {
            text.push_str(&text_of(&[part]));
            text.split_whitespace().count() >= words
        };
        self.wait_for_part(node, run, has_words).await;
    }

    /// Waits until a step of the run is finished.
    pub(crate) async fn wait_for_step(&self, node: &Node, run: RunId) {
        let is_step = |part: RunPart| matches!(part.kind, RunPartKind::StepFinished(_));
        self.wait_for_part(node, run, is_step).await;
    }

    async fn wait_for_part(&self, node: &Node, run: RunId, mut is_met: impl FnMut(RunPart) -> bool + Send + 'static) {
        let (generations, key) = (node.generations.clone(), self.key.clone());
        let reading = async move {
            let stream = generations.follow(&key, run, 1).await.unwrap();
            let mut stream = std::pin::pin!(stream);
            loop {
                let item = timeout(DEADLINE, stream.next()).await.expect("in time");
                if is_met(part(item.expect("the run continues"))) {
                    return;
                }
            }
        };
        node.within(reading).await;
    }

    /// Waits until the run is finished. Returns its outcome and the conversation's events.
    pub(crate) async fn wait_for_finish(&self, node: &Node, run: RunId) -> (RunOutcome, Vec<RecordedEvent>) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let events = self.events(node).await;
            let outcome = events.iter().find_map(|event| match &event.event.fact {
                Fact::Lifecycle(Lifecycle::RunFinished(finished)) if finished.run == run => Some(finished.outcome),
                _ => None,
            });
            if let Some(outcome) = outcome {
                return (outcome, events);
            }
            assert!(Instant::now() < deadline, "the run is never finished");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// All events, fresh.
    pub(crate) async fn events(&self, node: &Node) -> Vec<RecordedEvent> {
        let target = self.target(node).await;
        let (gateway, key) = (node.gateway.clone(), self.key.clone());
        let reading = async move {
            let range = Range::all(Direction::Forward);
            let bounds = Bounds { events_max: 1_000, bytes_max: 4 * 1024 * 1024 };
            let page = Page::recorded(&gateway.reader, &target, range, bounds).await.unwrap();
            let events = page.events.iter();
            events.map(|row| decode(&key, row).unwrap()).collect()
        };
        node.within(reading).await
    }

    pub(crate) async fn target(&self, node: &Node) -> Target {
        let token = self.stack.config.writer_token.expose();
        let registry = &node.gateway.registry;
        let deadline = Instant::now() + DEADLINE;
        loop {
            let principal = registry.authenticate(token, domain::Timestamp(0)).await.unwrap();
            let access = registry.authorize(&principal, Scope::Read, &self.agent).await;
            // The gateway's registry may be behind.
            let is_current = registry.agent(&self.agent) == self.stack.registry.agent(&self.agent);
            if let (Ok(access), true) = (access, is_current) {
                return Target {
                    access,
                    key: self.key.clone(),
                    freshness: Freshness::Fresh,
                    fence: None,
                    deadline: Deadline::until(None),
                };
            }
            assert!(Instant::now() < deadline, "the agent never arrives");
            sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Chat<'static> {
    /// A gateway of the shared stack, and a conversation that this model server answers.
    pub(crate) async fn with_node(server: &str) -> (Node, Self) {
        let stack = shared().await;
        (Node::start(stack).await, Self::answered_by(stack, server).await)
    }

    /// The same with two gateways.
    pub(crate) async fn with_two_nodes(server: &str) -> (Node, Node, Self) {
        let (node, chat) = Self::with_node(server).await;
        (node, Node::start(chat.stack).await, chat)
    }
}
