//! A conversation, and what tests do with it through a gateway.

use std::time::Duration;

use domain::{
    AgentId, ConversationId, ConversationKey, Fact, Lifecycle, RecordedEvent, RunId, RunOutcome,
    RunPart, RunPartKind, TenantId,
};
use event_log::Record;
use event_log::registry::Scope;
use futures::StreamExt as _;
use gateway::generation::{Followed, RunHandle, RunKey, Start};
use gateway::quotas::account::{Account, Via};
use history::{Deadline, Direction, Freshness, Page, PageBounds, Query, Target, decode};
use runtime::grpc::Authenticated;
use tokio::time::{Instant, sleep, timeout};
use tonic::Status;
use uuid::Uuid;
use wire::proto::event::v1::{Owner, owner};
use wire::proto::write::v1 as write;
use wire::proto::write::v1::write_service_client::WriteServiceClient;

use crate::node::Node;
use crate::stack::{PATIENCE, Stack, TENANT};
use crate::words::{new_event, part, text_of, user};

/// A conversation.
#[derive(Clone)]
pub(crate) struct Chat<'s> {
    pub(crate) agent: AgentId,
    pub(crate) key: ConversationKey,
    stack: &'s Stack,
}

impl<'s> Chat<'s> {
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
            owner: Some(Owner {
                kind: Some(owner::Kind::SessionId("s".to_owned())),
            }),
            ..write::CreateConversationRequest::default()
        };
        let mut writer = chat.writer();
        writer.create_conversation(request).await.unwrap();
        chat
    }

    /// The record that it is in.
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

    fn writer(&self) -> WriteServiceClient<Authenticated> {
        self.stack.writer().write(PATIENCE)
    }

    pub(crate) fn run_key(&self, run: RunId) -> RunKey {
        RunKey {
            agent: self.agent.clone(),
            key: self.key.clone(),
            run,
        }
    }

    /// Says something, which starts a run on a gateway.
    pub(crate) async fn say(&self, node: &Node, text: &str) -> RunHandle {
        self.start(node, vec![user(text)]).await.unwrap()
    }

    pub(crate) async fn start(&self, node: &Node, facts: Vec<Fact>) -> Result<RunHandle, Status> {
        self.start_with(node, facts, |_| ()).await
    }

    pub(crate) async fn start_with(
        &self,
        node: &Node,
        facts: Vec<Fact>,
        change: impl FnOnce(&mut Start),
    ) -> Result<RunHandle, Status> {
        let access = self.target(node).await.access;
        let mut start = Start {
            verified_user: None,
            account: Account::of(&access, None, &Via::default()),
            access,
            key: self.key.clone(),
            events: facts.into_iter().map(new_event).collect(),
            behind: None,
            given: None,
            approved: Vec::new(),
            idempotency_key: None,
            deadline: Deadline::until(None),
        };
        change(&mut start);
        let generations = node.generations.clone();
        node.within(async move { generations.start(start).await })
            .await
    }

    pub(crate) async fn stop(&self, node: &Node, run: RunId) {
        let (generations, key) = (node.generations.clone(), self.run_key(run));
        let stopping = async move { generations.stop(&key).await };
        node.within(stopping).await.unwrap();
    }

    /// All that a follower is told from a part on.
    pub(crate) async fn follow(&self, node: &Node, run: RunId, from: u64) -> Vec<Followed> {
        let (generations, key) = (node.generations.clone(), self.key.clone());
        let following = async move {
            let stream = generations.follow(&key, run, from).await.unwrap();
            timeout(PATIENCE, stream.collect()).await
        };
        let told = node.within(following).await;
        told.expect("the run ends in time")
    }

    /// The parts of a run, each once and in order, as a follower sees them.
    pub(crate) async fn parts(&self, node: &Node, run: RunId, from: u64) -> Vec<RunPart> {
        let told = self.follow(node, run, from).await;
        let parts: Vec<RunPart> = told.into_iter().map(part).collect();
        for (expected, part) in (from..).zip(&parts) {
            assert_eq!(part.number, expected, "no gap, no repeat");
        }
        parts
    }

    /// Waits until the run shows a text of at least so many words.
    pub(crate) async fn words(&self, node: &Node, run: RunId, words: usize) {
        let (generations, key) = (node.generations.clone(), self.key.clone());
        let reading = async move {
            let stream = generations.follow(&key, run, 1).await.unwrap();
            let mut stream = std::pin::pin!(stream);
            let mut seen = String::new();
            while seen.split_whitespace().count() < words {
                let told = timeout(PATIENCE, stream.next()).await.expect("in time");
                seen.push_str(&text_of(&[part(told.expect("the run goes on"))]));
            }
        };
        node.within(reading).await;
    }

    /// Waits until the parts of a run have a finished step among them.
    pub(crate) async fn stepped(&self, node: &Node, run: RunId) {
        let (generations, key) = (node.generations.clone(), self.key.clone());
        let reading = async move {
            let stream = generations.follow(&key, run, 1).await.unwrap();
            let mut stream = std::pin::pin!(stream);
            loop {
                let told = timeout(PATIENCE, stream.next()).await.expect("in time");
                let told = part(told.expect("the run goes on"));
                if matches!(told.kind, RunPartKind::StepFinished(_)) {
                    return;
                }
            }
        };
        node.within(reading).await;
    }

    /// The run's outcome and the conversation's events, once it is finished.
    pub(crate) async fn finished(
        &self,
        node: &Node,
        run: RunId,
    ) -> (RunOutcome, Vec<RecordedEvent>) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let events = self.events(node).await;
            let outcome = events.iter().find_map(|event| match &event.event.fact {
                Fact::Lifecycle(Lifecycle::RunFinished(finished)) if finished.run == run => {
                    Some(finished.outcome)
                }
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
            let query = Query::all(Direction::Forward);
            let bounds = PageBounds {
                events_max: 500,
                bytes_max: 4 * 1024 * 1024,
            };
            let page = Page::recorded(&gateway.reader, &target, query, bounds).await;
            let page = page.unwrap();
            let events = page.events.iter();
            events.map(|row| decode(&key, row).unwrap()).collect()
        };
        node.within(reading).await
    }

    pub(crate) async fn target(&self, node: &Node) -> Target {
        let token = self.stack.config.writer_token.expose();
        let registry = &node.gateway.registry;
        let deadline = Instant::now() + PATIENCE;
        loop {
            let principal = registry.authenticate(token).await.unwrap();
            let access = registry
                .authorize(&principal, Scope::Read, &self.agent)
                .await;
            // The gateway may not know of the agent's latest settings yet, nor of the agent.
            let known = registry.agent(&self.agent) == self.stack.registry.agent(&self.agent);
            if let (Ok(access), true) = (access, known) {
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
