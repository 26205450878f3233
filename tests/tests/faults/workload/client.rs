//! One caller: sends a command to any of the writers until it is settled.

use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationId, ConversationKey, TenantId, Version};
use rand::RngExt as _;
use rand::rngs::StdRng;
use tests::checker::{Expectation, Outcome, StreamPlace};
use tests::client::Caller;
use tokio::time::{Instant, sleep};
use wire::proto::read::v1 as read;
use wire::token::{PositionToken, RecordId};

use super::content;
use super::journal::{Journal, Pending};
use super::reply::{Reply, reply};
use super::request::Request;

/// How long a command is retried until its outcome counts as unknown.
pub(crate) const SETTLE_LIMIT: Duration = Duration::from_mins(1);
/// The deadline of a read.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two tries; jittered.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// The fence of a fresh read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fence {
    /// None: one replica has everything.
    Replica,
    /// The token of the newest acknowledged write.
    Acknowledged,
}

/// The endpoints of callers, and their journal.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    /// A caller for each writer; all have the same gateway.
    pub(crate) writers: Vec<Caller>,
    pub(crate) tenant: TenantId,
    pub(crate) agent: String,
    pub(crate) record: RecordId,
    pub(crate) fence: Fence,
    pub(crate) journal: Arc<Journal>,
}

/// A caller.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) endpoints: Endpoints,
    pub(crate) rng: StdRng,
    /// How many commands it may still send.
    left: usize,
}

impl Client {
    /// A caller that sends at most `commands_max` commands.
    pub(crate) fn new(endpoints: Endpoints, rng: StdRng, commands_max: usize) -> Self {
        Self { endpoints, rng, left: commands_max }
    }

    /// Whether it may send another command.
    pub(crate) fn may_continue(&self) -> bool {
        self.left > 0 && !self.endpoints.journal.is_stopped()
    }

    /// A caller for a random writer.
    pub(crate) fn caller(&mut self) -> Caller {
        let writer = self.rng.random_range(0..self.endpoints.writers.len());
        self.endpoints.writers[writer].clone()
    }

    pub(crate) fn key_of(&self, conversation: &str) -> ConversationKey {
        ConversationKey {
            tenant: self.endpoints.tenant.clone(),
            conversation: ConversationId::parse(conversation).unwrap(),
        }
    }

    /// A new command that is not sent yet.
    pub(crate) fn pending(
        &mut self,
        conversation: &str,
        asked: Expectation,
        stream_place: Option<StreamPlace>,
    ) -> Pending {
        self.left = self.left.saturating_sub(1);
        Pending {
            key: content::key(&mut self.rng),
            conversation: self.key_of(conversation),
            asked,
            invoked: self.endpoints.journal.now(),
            tries: 0,
            stream_place,
        }
    }

    /// Creates a conversation and waits until that is settled.
    pub(crate) async fn create(&mut self, conversation: &str) -> Outcome {
        let created = content::creation(&mut self.rng, &self.endpoints.agent);
        self.command(conversation, content::request([created])).await
    }

    /// Appends some events and waits until that is settled.
    pub(crate) async fn append(&mut self, conversation: &str, expected: Option<Version>) -> Outcome {
        let events = content::some_events(&mut self.rng);
        self.command(conversation, Expectation { events, expected }).await
    }

    /// An append of some events that is not sent yet.
    pub(crate) fn pending_append(&mut self, conversation: &str) -> Pending {
        let events = content::some_events(&mut self.rng);
        let expected = None;
        self.pending(conversation, Expectation { events, expected }, None)
    }

    /// Sends a new command until it is settled.
    pub(crate) async fn command(&mut self, conversation: &str, asked: Expectation) -> Outcome {
        let pending = self.pending(conversation, asked, None);
        self.settle(pending).await
    }

    /// Sends a command until it is settled, and adds it to the journal.
    pub(crate) async fn settle(&mut self, mut pending: Pending) -> Outcome {
        self.endpoints.journal.turn().await;
        if pending.tries == 0 {
            pending.invoked = self.endpoints.journal.now();
        }
        let deadline = Instant::now() + SETTLE_LIMIT;
        let outcome = loop {
            pending.tries += 1;
            if let Reply::Settled(outcome) = self.send(&pending).await {
                break outcome;
            }
            self.endpoints.journal.note_unanswered();
            if Instant::now() > deadline {
                break Outcome::Unknown;
            }
            sleep(PAUSE_MAX.mul_f64(self.rng.random())).await;
        };
        self.endpoints.journal.settle(pending, outcome.clone());
        outcome
    }

    /// Sends a command once.
    pub(crate) async fn send(&mut self, pending: &Pending) -> Reply {
        let request = Request::of(pending, &self.endpoints.agent);
        let answer = request.send(&self.caller()).await;
        reply(pending.key, answer.map_err(Into::into), self.endpoints.record)
    }

    /// The token of the newest acknowledged write, if reads are fenced with it.
    fn token(&self, conversation: &str) -> String {
        let newest = self.endpoints.journal.newest(&self.key_of(conversation));
        match (self.endpoints.fence, newest) {
            (Fence::Acknowledged, Some(newest)) => {
                PositionToken { record: self.endpoints.record, position: newest.position, version: newest.version }
                    .encode()
            }
            (Fence::Acknowledged, None) | (Fence::Replica, _) => String::new(),
        }
    }

    /// Reads a fresh context, and adds its version to the journal.
    pub(crate) async fn read(&mut self, conversation: &str) {
        self.endpoints.journal.turn().await;
        let invoked = self.endpoints.journal.now();
        let target = read::ReadTarget {
            agent_id: self.endpoints.agent.clone(),
            conversation_id: conversation.to_owned(),
            position_token: self.token(conversation),
            ..read::ReadTarget::default()
        };
        let mut request = tonic::Request::new(read::AssembleContextRequest {
            target: Some(target),
            messages_max: 5,
            ..read::AssembleContextRequest::default()
        });
        request.set_timeout(READ_TIMEOUT);
        let answer = self.caller().read().assemble_context(request).await;
        if let Ok(context) = answer {
            let version = context.into_inner().version;
            let key = self.key_of(conversation);
            self.endpoints.journal.note_read(key, invoked, version);
        } else {
            self.endpoints.journal.note_unread();
            sleep(PAUSE_MAX.mul_f64(self.rng.random())).await;
        }
    }
}
