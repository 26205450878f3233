//! Any stream's messages in order, over every loss: an unfiltered, ack-none consumer, made anew when it is lost.

use std::time::Duration;

use async_nats::Message;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use domain::{Sequence, Timestamp};
use futures::{Stream, StreamExt as _, stream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout_at};

use crate::error::Unavailable;
use crate::jitter::jittered;
use crate::record::Record;

/// Messages that are asked for at a time; half as many again may be on their way.
pub(crate) const PULL_MESSAGES: usize = 1_000;
/// Bytes that are asked for at a time; more than the largest message that a server takes by default, twice over.
pub(crate) const PULL_BYTES: usize = 16 * 1024 * 1024;
/// How long the server waits for messages before it is asked again.
pub(crate) const PULL_EXPIRES: Duration = Duration::from_secs(30);
/// How often an idle server says that it is there; after two missing ones the consumer is made anew.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long the server keeps a consumer that nobody asks.
pub(crate) const INACTIVE_MAX: Duration = Duration::from_mins(1);
/// The longest wait between two attempts to make a consumer.
const WAIT_MAX: Duration = Duration::from_millis(500);

/// What a feed tells.
pub(crate) enum FeedItem {
    /// The consumer is there, for the first time or again.
    Begun,
    /// The next message.
    Message(FeedMessage),
    /// The consumer is lost; the feed goes on by itself.
    Lost(Unavailable),
}

/// A message of a feed.
pub(crate) struct FeedMessage {
    pub(crate) message: Message,
    pub(crate) sequence: Sequence,
    pub(crate) stored_at: Timestamp,
    pub(crate) pending: u64,
}

/// A place in a stream, and the consumer that reads on from it.
pub(crate) struct Feed {
    record: Record,
    stream: String,
    last: Sequence,
    source: Option<Source>,
    failures: u32,
}

struct Source {
    messages: pull::Stream,
    reconnects: watch::Receiver<u64>,
    /// The consumer's own count of what it has sent: a message that was lost on the way shows in it.
    delivered: u64,
}

impl Feed {
    pub(crate) fn new(record: Record, stream: String, after: Sequence) -> Self {
        Self {
            record,
            stream,
            last: after,
            source: None,
            failures: 0,
        }
    }

    pub(crate) fn into_stream(self) -> impl Stream<Item = FeedItem> + Send {
        stream::unfold(self, |mut feed| async {
            let item = feed.next().await;
            Some((item, feed))
        })
    }

    pub(crate) async fn next(&mut self) -> FeedItem {
        let Some(source) = &mut self.source else {
            return self.begin().await;
        };
        match source.next().await {
            Ok(message) => {
                self.failures = 0;
                self.last = message.sequence;
                FeedItem::Message(message)
            }
            Err(unavailable) => {
                self.source = None;
                FeedItem::Lost(unavailable)
            }
        }
    }

    async fn begin(&mut self) -> FeedItem {
        if self.failures > 0 {
            sleep(jittered(self.failures, WAIT_MAX)).await;
        }
        self.failures = self.failures.saturating_add(1);
        match self.consume().await {
            Ok(source) => {
                self.source = Some(source);
                FeedItem::Begun
            }
            Err(unavailable) => FeedItem::Lost(unavailable),
        }
    }

    async fn consume(&self) -> Result<Source, Unavailable> {
        let connection = self.record.connection();
        let deadline = self.record.deadline();
        connection.ready(deadline).await?;
        let reconnects = connection.reconnects();
        let consuming = async {
            let stream = connection.jetstream.get_stream_no_info(&self.stream);
            let stream = stream.await.ok()?;
            let consumer = stream.create_consumer(self.config()).await.ok()?;
            let pulls = consumer.stream().expires(PULL_EXPIRES).heartbeat(HEARTBEAT);
            let pulls = pulls.max_messages_per_batch(PULL_MESSAGES);
            pulls.max_bytes_per_batch(PULL_BYTES).messages().await.ok()
        };
        let messages = timeout_at(deadline, consuming).await.ok().flatten();
        Ok(Source {
            messages: messages.ok_or(Unavailable::new("a stream cannot be followed"))?,
            reconnects,
            delivered: 0,
        })
    }

    fn config(&self) -> pull::Config {
        pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: self.last.0.saturating_add(1),
            },
            ack_policy: AckPolicy::None,
            inactive_threshold: INACTIVE_MAX,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        }
    }
}

impl Source {
    async fn next(&mut self) -> Result<FeedMessage, Unavailable> {
        let message = tokio::select! {
            biased;
            message = self.messages.next() => message,
            _ = self.reconnects.changed() => None,
        };
        let lost = Unavailable::new("a followed stream was lost");
        let message = message.and_then(Result::ok).ok_or(lost)?;
        let info = message.info().map_err(|_| lost)?;
        self.delivered = self.delivered.saturating_add(1);
        if info.consumer_sequence != self.delivered {
            return Err(lost);
        }
        let stored_at = info.published.unix_timestamp_nanos();
        Ok(FeedMessage {
            sequence: Sequence(info.stream_sequence),
            stored_at: Timestamp(i64::try_from(stored_at).unwrap_or(i64::MAX)),
            pending: info.pending,
            message: message.message,
        })
    }
}
