//! Reads the last commit of every conversation of a partition.

use async_nats::jetstream::consumer::DeliverPolicy;
use domain::{ConversationKey, Partition, Position, Sequence};
use futures::{Stream, StreamExt as _, stream};
use serde::Serialize;

use crate::consumer::Consumer;
use crate::last::stored;
use crate::{Record, StoredMessage, TraceHeaders, Unavailable, topology};

/// Requests the last message of each subject up to a sequence.
#[derive(Debug, Serialize)]
struct LastUpTo<'a> {
    #[serde(rename = "multi_last")]
    subjects: [&'a str; 1],
    up_to_seq: u64,
    batch: usize,
}

impl Record {
    /// The last commit of each conversation of a partition in the order of sequences, and then the commits that are stored during the
    /// read. A conversation that changes meanwhile appears again with its later commit.
    ///
    /// Messages that close a subject, or whose subject is not a conversation's, are omitted. The stream ends after an error: start again.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_commits(
        &self,
        partition: Partition,
    ) -> Result<impl Stream<Item = Result<(ConversationKey, StoredMessage), Unavailable>> + Unpin + use<>, Unavailable>
    {
        let consumer = self.last_of_each(partition).await?;
        // Read after the consumer was created, so the end includes all that the consumer found.
        let bounds = self.bounds_of(partition).await?;
        let reading = Reading {
            record: self.clone(),
            consumer,
            partition,
            last: bounds.last,
            is_finished: bounds.first > bounds.last,
        };
        let items = stream::unfold(reading, |mut reading| async move {
            if reading.is_finished {
                return None;
            }
            let item = reading.next().await;
            reading.is_finished |= item.is_err();
            Some((item.transpose(), reading))
        });
        Ok(Box::pin(items.filter_map(std::future::ready)))
    }

    /// A conversation's last commit up to a sequence, from any replica; `None`: no commit.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn last_up_to(
        &self,
        key: &ConversationKey,
        sequence: Sequence,
    ) -> Result<Option<StoredMessage>, Unavailable> {
        // The server reads the sequence 0 as absent.
        if sequence == Sequence(0) {
            return Ok(None);
        }
        let route = self.route(key).await?;
        let request = LastUpTo { subjects: [&route.subject], up_to_seq: sequence.0, batch: 1 };
        let connection = self.connection();
        let batch = connection.batch(&route.stream, &request, 1, self.deadline());
        let mut messages = batch.await?.messages.into_iter();
        if let Some(message) = messages.next() {
            return Ok(Some(stored(route.partition, message)));
        }
        // For a sequence after the stream's end the server finds nothing.
        let last = self.last(key).await?;
        Ok(last.filter(|message| message.position.sequence <= sequence))
    }

    async fn last_of_each(&self, partition: Partition) -> Result<Consumer, Unavailable> {
        let connection = self.connection();
        let deadline = self.deadline();
        connection.ready(deadline).await?;
        let name = topology::stream_name(partition);
        // The server requires a filter; one of all subjects is not slower.
        let filter = format!("hansard.{partition}.>");
        let policy = DeliverPolicy::LastPerSubject;
        Consumer::create(connection, &name, policy, filter, deadline).await
    }
}

struct Reading {
    record: Record,
    consumer: Consumer,
    partition: Partition,
    /// The sequence at which the read ends.
    last: Sequence,
    is_finished: bool,
}

impl Reading {
    /// The next commit; `None` for a message with another subject.
    async fn next(&mut self) -> Result<Option<(ConversationKey, StoredMessage)>, Unavailable> {
        let lost = Unavailable::new("the consumer of a partition was lost");
        let consumed = self.consumer.next().await.ok_or(lost)?;
        let position = Position { partition: self.partition, sequence: consumed.sequence };
        self.is_finished = position.sequence >= self.last
            || (consumed.pending == 0
                && self.record.is_exhausted(self.partition, position.sequence, self.last).await?);
        let message = consumed.message;
        let key = topology::key_of(&message.subject).filter(|_| !message.payload.is_empty());
        Ok(key.map(|key| {
            let stored = StoredMessage { position, message: message.payload, trace: TraceHeaders::default() };
            (key, stored)
        }))
    }
}
