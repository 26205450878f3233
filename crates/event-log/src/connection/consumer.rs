//! An ack-none consumer of a stream, which detects lost messages.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::{Message, jetstream};
use domain::{Sequence, Timestamp};
use futures::StreamExt as _;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::error::Unavailable;

/// Messages of one pull request; half as many again may be in flight.
const PULL_MESSAGES: usize = 1_000;
/// Bytes of one pull request; more than twice the server's default maximum message size.
const PULL_BYTES: usize = 16 * 1024 * 1024;
/// Timeout of one pull request on the server.
const PULL_EXPIRES: Duration = Duration::from_secs(30);
/// Interval of heartbeats from an idle server; after two missing ones the consumer is lost.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// How long the server keeps an inactive consumer.
const INACTIVE_MAX: Duration = Duration::from_mins(1);
/// Timeout of one attempt to create a consumer: a request to a server that has ended is never answered.
const CREATE_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct ConsumedMessage {
    pub(crate) message: Message,
    pub(crate) sequence: Sequence,
    pub(crate) stored_at: Timestamp,
    pub(crate) pending: u64,
}

pub(crate) struct Consumer {
    messages: pull::Stream,
    /// The expected consumer sequence; a difference shows a lost message.
    delivered: u64,
    /// After a reconnect, the consumer gets no messages.
    reconnects: watch::Receiver<u64>,
}

impl Consumer {
    /// Creates a consumer, once the connection is up. An empty filter selects every subject.
    pub(crate) async fn create(
        connection: &Connection,
        stream: &str,
        deliver_policy: DeliverPolicy,
        filter_subject: String,
        deadline: Instant,
    ) -> Result<Self, Unavailable> {
        connection.ready(deadline).await?;
        let reconnects = connection.reconnects();
        let config = pull::Config {
            deliver_policy,
            filter_subject,
            ack_policy: AckPolicy::None,
            inactive_threshold: INACTIVE_MAX,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let consuming = async {
            let stream = connection.jetstream.get_stream_no_info(stream).await.ok()?;
            let consumer = stream.create_consumer(config).await.ok()?;
            let pulls =
                consumer.stream().expires(PULL_EXPIRES).heartbeat(HEARTBEAT).max_messages_per_batch(PULL_MESSAGES);
            pulls.max_bytes_per_batch(PULL_BYTES).messages().await.ok()
        };
        let messages = timeout_at(deadline.min(Instant::now() + CREATE_TIMEOUT), consuming).await.ok().flatten();
        let messages = messages.ok_or(Unavailable::new("a consumer cannot be created"))?;
        Ok(Self { messages, delivered: 0, reconnects })
    }

    /// The next message. Cancel-safe.
    ///
    /// # Errors
    /// The consumer or a message is lost: create another consumer.
    pub(crate) async fn next(&mut self) -> Result<ConsumedMessage, Unavailable> {
        let message = tokio::select! {
            biased;
            message = self.messages.next() => message.and_then(Result::ok),
            _ = self.reconnects.changed() => None,
        };
        message.and_then(|message| self.accept(message)).ok_or(Unavailable::new("the consumer of a stream was lost"))
    }

    /// `None`: an earlier message is lost.
    fn accept(&mut self, message: jetstream::Message) -> Option<ConsumedMessage> {
        let info = message.info().ok()?;
        self.delivered = self.delivered.saturating_add(1);
        if info.consumer_sequence != self.delivered {
            return None;
        }
        let stored_at = info.published.unix_timestamp_nanos();
        Some(ConsumedMessage {
            sequence: Sequence(info.stream_sequence),
            stored_at: Timestamp(i64::try_from(stored_at).unwrap_or(i64::MAX)),
            pending: info.pending,
            message: message.message,
        })
    }
}
