//! Where all conversations of a partition stand: the last commit of each, without those before it.

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use domain::{ConversationKey, Partition, Position, Sequence};
use futures::{Stream, StreamExt as _, stream};
use serde::Serialize;
use tokio::time::timeout_at;

use crate::error::Unavailable;
use crate::feed::{HEARTBEAT, INACTIVE_MAX, PULL_BYTES, PULL_EXPIRES, PULL_MESSAGES};
use crate::headers::TraceHeaders;
use crate::last::stored;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

/// Asks for the last message of each of some subjects, none later than a sequence.
#[derive(Debug, Serialize)]
struct LastUpTo<'a> {
    #[serde(rename = "multi_last")]
    subjects: [&'a str; 1],
    up_to_seq: u64,
    batch: usize,
}

impl Record {
    /// The last commit of each conversation of a partition, by its place, and then what comes until the read catches up; so
    /// one that moves meanwhile may come more than once, the later commit after the earlier.
    ///
    /// The key is by the message's subject; a message of no conversation's subject is left out. An error ends it: begin
    /// again.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn standings(
        &self,
        partition: Partition,
    ) -> Result<
        impl Stream<Item = Result<(ConversationKey, StoredMessage), Unavailable>> + Unpin + use<>,
        Unavailable,
    > {
        let messages = self.last_of_each(partition).await?;
        // Taken after the consumer was made: what it then holds comes before the end.
        let bounds = self.bounds_of(partition).await?;
        let reading = Reading {
            record: self.clone(),
            messages,
            partition,
            last: bounds.last,
            delivered: 0,
            over: bounds.first > bounds.last,
        };
        let items = stream::unfold(reading, |mut reading| async move {
            if reading.over {
                return None;
            }
            let item = reading.next().await;
            reading.over |= item.is_err();
            Some((item.transpose(), reading))
        });
        Ok(Box::pin(items.filter_map(std::future::ready)))
    }

    /// A conversation's last commit among those up to a sequence, as any replica knows it; `None`: it has none there.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_up_to(
        &self,
        key: &ConversationKey,
        sequence: Sequence,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        // The server takes the sequence 0 for none given.
        if sequence == Sequence(0) {
            return Ok(None);
        }
        let place = self.place(key);
        let request = LastUpTo {
            subjects: [&place.subject],
            up_to_seq: sequence.0,
            batch: 1,
        };
        let connection = self.connection();
        let batch = connection.batch(&place.stream, &request, 1, self.deadline());
        let mut messages = batch.await?.messages.into_iter();
        if let Some(message) = messages.next() {
            return Ok(Some(stored(place.partition, message)));
        }
        // Past the stream's end the server finds nothing at all.
        let last = self.last(key).await?;
        Ok(last.filter(|message| message.position.sequence <= sequence))
    }

    async fn last_of_each(&self, partition: Partition) -> Result<pull::Stream, Unavailable> {
        let connection = self.connection();
        let deadline = self.deadline();
        connection.ready(deadline).await?;
        let config = pull::Config {
            deliver_policy: DeliverPolicy::LastPerSubject,
            // The server wants one; of all subjects, it slows nothing down.
            filter_subject: format!("hansard.{partition}.>"),
            ack_policy: AckPolicy::None,
            inactive_threshold: INACTIVE_MAX,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let name = topology::stream_name(partition);
        let consuming = async {
            let stream = connection.jetstream.get_stream_no_info(&name).await.ok()?;
            let consumer = stream.create_consumer(config).await.ok()?;
            let pulls = consumer.stream().expires(PULL_EXPIRES).heartbeat(HEARTBEAT);
            let pulls = pulls.max_messages_per_batch(PULL_MESSAGES);
            pulls.max_bytes_per_batch(PULL_BYTES).messages().await.ok()
        };
        let messages = timeout_at(deadline, consuming).await.ok().flatten();
        messages.ok_or(Unavailable::new("a partition cannot be read"))
    }
}

/// The last commits that are still to come.
struct Reading {
    record: Record,
    messages: pull::Stream,
    partition: Partition,
    /// The sequence that ends the read.
    last: Sequence,
    /// The consumer's own count of what it has sent: a message that was lost on the way shows in it.
    delivered: u64,
    over: bool,
}

impl Reading {
    /// The next commit; `None` in place of a message of no conversation's subject.
    async fn next(&mut self) -> Result<Option<(ConversationKey, StoredMessage)>, Unavailable> {
        let lost = Unavailable::new("the last commits of a partition were lost");
        let message = self.messages.next().await.and_then(Result::ok);
        let message = message.ok_or(lost)?;
        let info = message.info().map_err(|_| lost)?;
        self.delivered = self.delivered.saturating_add(1);
        if info.consumer_sequence != self.delivered {
            return Err(lost);
        }
        let position = Position {
            partition: self.partition,
            sequence: Sequence(info.stream_sequence),
        };
        self.over = position.sequence >= self.last
            || (info.pending == 0
                && self
                    .record
                    .is_exhausted(self.partition, position.sequence, self.last)
                    .await?);
        let message = message.message;
        Ok(topology::key_of(&message.subject).map(|key| {
            let stored = StoredMessage {
                position,
                message: message.payload,
                trace: TraceHeaders::default(),
            };
            (key, stored)
        }))
    }
}
