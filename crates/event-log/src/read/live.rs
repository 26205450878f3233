//! Live subscriptions to the commits of a conversation or the parts of a run.

use std::time::Duration;

use async_nats::{Message, Subscriber};
use domain::ConversationKey;
use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::connection::get;
use crate::connection::get::RawMessage;
use crate::error::Unavailable;
use crate::headers;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

/// The time until all servers of a cluster have a new subscription.
const INTEREST_SETTLES: Duration = Duration::from_secs(1);

/// An item of a live subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveItem {
    /// A commit was stored.
    Commit(StoredMessage),
    /// Commits may be missing: read the record after the last known commit.
    ///
    /// Returned after a reconnect, when the reader was too slow, and once at the start on a cluster, whose servers must
    /// first exchange the subscription.
    Gap,
}

/// The commits of a conversation that are stored after the subscription. Drop it to stop.
#[derive(Debug)]
pub struct LiveSubscription {
    messages: LiveMessages,
}

impl LiveSubscription {
    /// The next item; waits without a limit. Cancel-safe.
    pub async fn next(&mut self) -> LiveItem {
        loop {
            let Some(message) = self.messages.next().await else {
                return LiveItem::Gap;
            };
            let partition = topology::partition_of(&message.subject);
            if let Some(partition) = partition.filter(|_| !message.is_closing()) {
                return LiveItem::Commit(StoredMessage::of(partition, message));
            }
        }
    }
}

/// Messages of a subject of any stream, as they are stored.
#[derive(Debug)]
pub(crate) struct LiveMessages {
    messages: Subscriber,
    reconnects: watch::Receiver<u64>,
    /// When to return the gap of the start.
    settles_at: Option<Instant>,
    /// The last returned sequence.
    last: Option<u64>,
    /// A message after a gap.
    held: Option<RawMessage>,
}

impl LiveMessages {
    /// The next message; `None`: some may be missing. Waits without a limit. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<RawMessage> {
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        loop {
            let settled = self.settles_at;
            let message = tokio::select! {
                biased;
                Ok(()) = self.reconnects.changed() => {
                    self.last = None;
                    return None;
                }
                () = sleep_until(settled.unwrap_or_else(Instant::now)), if settled.is_some() => {
                    self.settles_at = None;
                    return None;
                }
                message = self.messages.next() => message,
            };
            // The record's connection is closed: no further message arrives.
            let Some(message) = message else {
                return std::future::pending().await;
            };
            if let Some(stored) = republished(&message) {
                return self.detect_gap(&message, stored);
            }
        }
    }

    /// Returns the message, or `None` first if a message before it is missing.
    fn detect_gap(&mut self, message: &Message, stored: RawMessage) -> Option<RawMessage> {
        let headers = message.headers.as_ref();
        let before = headers.and_then(headers::last_sequence_of);
        let follows = self.last.is_none() || self.last == before;
        self.last = Some(stored.sequence.0);
        if follows {
            return Some(stored);
        }
        self.held = Some(stored);
        None
    }
}

/// The stored message that a stream republished; `None`: a message of a consumer, which keeps its own subject and lacks the headers of
/// a stream, or which has the subscribed subject and is a heartbeat.
fn republished(message: &Message) -> Option<RawMessage> {
    let stored = get::parse_direct_reply(message.headers.as_ref(), &message.payload).ok()?;
    (*message.subject == *topology::live_subject(&stored.subject)).then_some(stored)
}

impl Record {
    /// Subscribes to the commits of a conversation. A reader subscribes first, reads history, then continues by version.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn live(&self, key: &ConversationKey) -> Result<LiveSubscription, Unavailable> {
        let subject = topology::subject_in_any_partition(key);
        Ok(LiveSubscription { messages: self.subscribe(&subject).await? })
    }

    /// Subscribes to a subject of a stream.
    pub(crate) async fn subscribe(&self, subject: &str) -> Result<LiveMessages, Unavailable> {
        let deadline = self.deadline();
        let connection = self.connection();
        connection.ready(deadline).await?;
        let reconnects = connection.reconnects();
        let subscribing = async {
            let subject = topology::live_subject(subject);
            let messages = connection.client.subscribe(subject).await.ok()?;
            connection.client.flush().await.ok()?;
            Some(messages)
        };
        let messages = timeout_at(deadline, subscribing).await.ok().flatten();
        let is_single_server = connection.client.server_info().cluster.is_none();
        Ok(LiveMessages {
            messages: messages.ok_or(Unavailable::new("the connection to NATS was lost"))?,
            reconnects,
            settles_at: (!is_single_server).then(|| Instant::now() + INTEREST_SETTLES),
            last: None,
            held: None,
        })
    }
}
