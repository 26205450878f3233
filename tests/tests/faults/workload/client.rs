//! One caller: sends a command until it is settled, by any of the writers.

use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationId, ConversationKey, TenantId, Version};
use rand::RngExt as _;
use rand::rngs::StdRng;
use tests::checker::{Asked, Outcome, Pipelined};
use tests::client::Caller;
use tokio::time::{Instant, sleep};
use wire::proto::read::v1 as read;
use wire::token::{PositionToken, RecordId};

use super::content;
use super::journal::{Journal, Pending};
use super::reply::{Reply, reply};
use super::request::Request;

/// How long a command is sent again until it counts as never known.
pub(crate) const SETTLE_LIMIT: Duration = Duration::from_mins(1);
/// The deadline of a read.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest pause between two tries; jittered.
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// What a fresh read is sure to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fence {
    /// What one replica has: all there is, where there is one.
    Replica,
    /// The newest write that was acknowledged: its token is given.
    Acknowledged,
}

/// Where callers call, and where they write it down.
#[derive(Debug, Clone)]
pub(crate) struct Doors {
    /// A caller for each writer; the gateway behind all of them is the same.
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
    pub(crate) doors: Doors,
    pub(crate) rng: StdRng,
    /// How many commands it may still begin.
    left: usize,
}

impl Client {
    /// A caller that begins at most `commands_max` commands.
    pub(crate) fn new(doors: Doors, rng: StdRng, commands_max: usize) -> Self {
        Self {
            doors,
            rng,
            left: commands_max,
        }
    }

    /// Whether it may begin another command.
    pub(crate) fn goes_on(&self) -> bool {
        self.left > 0 && !self.doors.journal.is_stopped()
    }

    /// Who calls: at any of the writers, whichever it was before.
    pub(crate) fn caller(&mut self) -> Caller {
        let writer = self.rng.random_range(0..self.doors.writers.len());
        self.doors.writers[writer].clone()
    }

    pub(crate) fn key_of(&self, conversation: &str) -> ConversationKey {
        ConversationKey {
            tenant: self.doors.tenant.clone(),
            conversation: ConversationId::parse(conversation).unwrap(),
        }
    }

    /// A new command, not sent yet.
    pub(crate) fn begin(
        &mut self,
        conversation: &str,
        asked: Asked,
        pipelined: Option<Pipelined>,
    ) -> Pending {
        self.left = self.left.saturating_sub(1);
        Pending {
            key: content::key(&mut self.rng),
            conversation: self.key_of(conversation),
            asked,
            invoked: self.doors.journal.now(),
            tries: 0,
            pipelined,
        }
    }

    /// Begins a conversation and waits until that is settled.
    pub(crate) async fn create(&mut self, conversation: &str) -> Outcome {
        let created = content::created(&mut self.rng, &self.doors.agent);
        self.command(conversation, content::asked([created])).await
    }

    /// Appends some events and waits until that is settled.
    pub(crate) async fn append(
        &mut self,
        conversation: &str,
        expected: Option<Version>,
    ) -> Outcome {
        let events = content::some_events(&mut self.rng);
        self.command(conversation, Asked { events, expected }).await
    }

    /// An append of some events, not sent yet.
    pub(crate) fn draught(&mut self, conversation: &str) -> Pending {
        let events = content::some_events(&mut self.rng);
        let expected = None;
        self.begin(conversation, Asked { events, expected }, None)
    }

    /// Sends a new command until it is settled.
    pub(crate) async fn command(&mut self, conversation: &str, asked: Asked) -> Outcome {
        let pending = self.begin(conversation, asked, None);
        self.settle(pending).await
    }

    /// Sends a command until it is settled, and writes it down.
    pub(crate) async fn settle(&mut self, mut pending: Pending) -> Outcome {
        let deadline = Instant::now() + SETTLE_LIMIT;
        let outcome = loop {
            pending.tries += 1;
            if let Reply::Settled(outcome) = self.send(&pending).await {
                break outcome;
            }
            self.doors.journal.note_unanswered();
            if Instant::now() > deadline {
                break Outcome::Unknown;
            }
            sleep(PAUSE_MAX.mul_f64(self.rng.random())).await;
        };
        self.doors.journal.settle(pending, outcome.clone());
        outcome
    }

    /// Sends a command once.
    pub(crate) async fn send(&mut self, pending: &Pending) -> Reply {
        let request = Request::of(pending, &self.doors.agent);
        let answer = request.send(&self.caller()).await;
        reply(pending.key, answer.map_err(Into::into), self.doors.record)
    }

    /// The token of the newest write that was acknowledged, where reads are to be fenced by it.
    fn token(&self, conversation: &str) -> String {
        let newest = self.doors.journal.newest(&self.key_of(conversation));
        match (self.doors.fence, newest) {
            (Fence::Acknowledged, Some(newest)) => PositionToken {
                record: self.doors.record,
                position: newest.position,
                version: newest.version,
            }
            .encode(),
            (Fence::Acknowledged, None) | (Fence::Replica, _) => String::new(),
        }
    }

    /// Reads a context, fresh, and writes down the version that it is made of.
    pub(crate) async fn read(&mut self, conversation: &str) {
        let invoked = self.doors.journal.now();
        let target = read::ReadTarget {
            agent_id: self.doors.agent.clone(),
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
            self.doors.journal.note_read(key, invoked, version);
        } else {
            self.doors.journal.note_unread();
            sleep(PAUSE_MAX.mul_f64(self.rng.random())).await;
        }
    }
}
