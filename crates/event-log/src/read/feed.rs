//! Reads a stream in order through an unfiltered, ack-none consumer, which is recreated after every loss.

use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use bytes::Bytes;
use domain::Sequence;
use futures::{Stream, StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use crate::connection::RETRY_DELAY_BASE;
use crate::connection::consumer::{ConsumedMessage, Consumer};
use crate::connection::get::MessageQuery;
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology;

/// Maximum delay between two attempts to create a consumer.
const WAIT_MAX: Duration = Duration::from_millis(500);

pub(crate) enum FeedItem {
    /// A consumer was created, for the first time or again.
    Started,
    Message(ConsumedMessage),
    /// The consumer was lost; the feed recovers by itself.
    Lost(Unavailable),
}

/// A consumer of a stream and the last sequence that it returned.
pub(crate) struct Feed {
    record: Record,
    stream: String,
    last: Sequence,
    /// The last message that was returned.
    returned: Option<Bytes>,
    consumer: Option<Consumer>,
    failures: u32,
}

impl Feed {
    pub(crate) fn new(record: Record, stream: String, after: Sequence) -> Self {
        Self { record, stream, last: after, returned: None, consumer: None, failures: 0 }
    }

    /// The converted messages, and an error for each lost consumer. It never ends.
    pub(crate) fn into_stream<T, F>(
        self,
        convert: F,
    ) -> impl Stream<Item = Result<T, Unavailable>> + Send + Unpin + use<T, F>
    where
        T: Send,
        F: Fn(ConsumedMessage) -> T + Send,
    {
        let items = stream::unfold(self, |mut feed| async {
            let item = feed.next().await;
            Some((item, feed))
        });
        Box::pin(items.filter_map(move |item| {
            std::future::ready(match item {
                FeedItem::Started => None,
                FeedItem::Message(message) => Some(Ok(convert(message))),
                FeedItem::Lost(unavailable) => Some(Err(unavailable)),
            })
        }))
    }

    pub(crate) async fn next(&mut self) -> FeedItem {
        let Some(consumer) = &mut self.consumer else {
            return self.start().await;
        };
        match consumer.next().await {
            Ok(message) => {
                self.failures = 0;
                self.last = message.sequence;
                self.returned = Some(message.message.payload.clone());
                FeedItem::Message(message)
            }
            Err(unavailable) => {
                self.consumer = None;
                FeedItem::Lost(unavailable)
            }
        }
    }

    async fn start(&mut self) -> FeedItem {
        if self.failures > 0 {
            sleep(backoff::delay(self.failures, RETRY_DELAY_BASE, WAIT_MAX)).await;
        }
        self.failures = self.failures.saturating_add(1);
        match self.consume().await {
            Ok(consumer) => {
                self.consumer = Some(consumer);
                FeedItem::Started
            }
            Err(unavailable) => FeedItem::Lost(unavailable),
        }
    }

    async fn consume(&self) -> Result<Consumer, Unavailable> {
        let (connection, deadline) = (self.record.connection(), self.record.deadline());
        if let Some(returned) = &self.returned {
            self.check_has(returned, deadline).await?;
        }
        let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence: self.last.0.saturating_add(1) };
        let every_subject = String::new();
        Consumer::create(connection, &self.stream, deliver_policy, every_subject, deadline).await
    }

    /// Checks that the stream has the last message that was returned, unless that was removed since: it may be another stream, or an
    /// older copy of it.
    async fn check_has(&self, returned: &Bytes, deadline: Instant) -> Result<(), Unavailable> {
        let connection = self.record.connection();
        let query = MessageQuery::Sequence(self.last.0);
        if let Some(found) = connection.get_from_leader(&self.stream, &query, deadline).await? {
            return if found.payload == *returned { Ok(()) } else { Err(Unavailable::DIVERGED) };
        }
        let is_shorter = topology::last_sequence(connection, &self.stream, deadline).await? < self.last;
        if is_shorter { Err(Unavailable::DIVERGED) } else { Ok(()) }
    }
}
