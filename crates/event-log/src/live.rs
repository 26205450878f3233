//! What is stored of a conversation or a run, as it is stored.

use std::time::Duration;

use async_nats::{Message, Subscriber};
use domain::{ConversationKey, Partition};
use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::error::Unavailable;
use crate::get::RawMessage;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::{get, headers, last, topology};

/// How long after a subscription all servers of a cluster know of it.
const INTEREST_SETTLES: Duration = Duration::from_secs(1);

/// What a live subscription tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveItem {
    /// A commit was stored.
    Commit(StoredMessage),
    /// Commits may have been missed: read from the record what came since the last one that was seen.
    ///
    /// Told when the connection was lost and is back, when the reader was too slow, and once in the beginning where
    /// several servers must first learn of the subscription.
    Gap,
}

/// The commits of a conversation as they are stored, beginning with its subscription. Dropping it is how to stop.
#[derive(Debug)]
pub struct LiveSubscription {
    partition: Partition,
    messages: LiveMessages,
}

impl LiveSubscription {
    /// The next item; waits for ever. Safe to cancel.
    pub async fn next(&mut self) -> LiveItem {
        match self.messages.next().await {
            Some(message) => LiveItem::Commit(last::stored(self.partition, message)),
            None => LiveItem::Gap,
        }
    }
}

/// The messages of a subject of any stream as they are stored.
#[derive(Debug)]
pub(crate) struct LiveMessages {
    messages: Subscriber,
    reconnects: watch::Receiver<u64>,
    /// When to tell of what may have been missed in the beginning.
    settles_at: Option<Instant>,
    /// The last sequence that was told, once there is one.
    last: Option<u64>,
    /// A message that came behind a gap.
    held: Option<RawMessage>,
}

impl LiveMessages {
    /// The next message; `None`: some may have been missed. Waits for ever. Safe to cancel.
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
            // Ended for good: the handle to the record is gone, so nothing can come any more.
            let Some(message) = message else {
                return std::future::pending().await;
            };
            if let Ok(stored) = get::of_direct(message.headers.as_ref(), &message.payload) {
                return self.told(&message, stored);
            }
        }
    }

    /// The message, or first the gap that it shows.
    fn told(&mut self, message: &Message, stored: RawMessage) -> Option<RawMessage> {
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

impl Record {
    /// Subscribes to what is stored of a conversation. A reader subscribes first, reads history, then goes on by version.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn live(&self, key: &ConversationKey) -> Result<LiveSubscription, Unavailable> {
        let place = self.place(key);
        Ok(LiveSubscription {
            partition: place.partition,
            messages: self.subscribe(&place.subject).await?,
        })
    }

    /// Subscribes to what is stored under a subject.
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
        let alone = connection.client.server_info().cluster.is_none();
        Ok(LiveMessages {
            messages: messages.ok_or(Unavailable::new("the connection was lost"))?,
            reconnects,
            settles_at: (!alone).then(|| Instant::now() + INTEREST_SETTLES),
            last: None,
            held: None,
        })
    }
}
