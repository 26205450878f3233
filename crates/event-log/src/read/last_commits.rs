//! Reads the last commit of every conversation of a partition.

use async_nats::jetstream::consumer::DeliverPolicy;
use domain::{ConversationKey, Partition, Position, Sequence};
use futures::{Stream, stream};
use serde::Serialize;

use crate::connection::consumer::Consumer;
use crate::connection::outage::Outage;
use crate::error::Unavailable;
use crate::headers::TraceHeaders;
use crate::message::StoredMessage;
use crate::record::Record;
use crate::topology;

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
    /// Messages that close a subject, or whose subject is not a conversation's, are omitted. After a lost consumer the read continues
    /// behind the last sequence that it returned. An error is the last item: nothing was read for [`OUTAGE_MAX`](crate::OUTAGE_MAX).
    pub fn last_commits(
        &self,
        partition: Partition,
    ) -> impl Stream<Item = Result<(ConversationKey, StoredMessage), Unavailable>> + Unpin + use<> {
        let reading = Reading {
            record: self.clone(),
            partition,
            consumer: None,
            read: Sequence(0),
            last: Sequence(0),
            outage: Outage::default(),
            is_finished: false,
        };
        Box::pin(stream::unfold(reading, |mut reading| async {
            let item = reading.next().await?;
            Some((item, reading))
        }))
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
            return Ok(Some(StoredMessage::of(route.partition, message)));
        }
        // For a sequence after the stream's end the server finds nothing.
        let last = self.last(key).await?;
        Ok(last.filter(|message| message.position.sequence <= sequence))
    }
}

struct Reading {
    record: Record,
    partition: Partition,
    consumer: Option<Consumer>,
    /// The last sequence that was read.
    read: Sequence,
    /// The sequence at which the read ends.
    last: Sequence,
    outage: Outage,
    is_finished: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Result<(ConversationKey, StoredMessage), Unavailable>> {
        while !self.is_finished {
            match self.advance().await {
                Ok(None) => {}
                Ok(Some(commit)) => return Some(Ok(commit)),
                Err(unavailable) => {
                    self.consumer = None;
                    if !self.outage.wait().await {
                        self.is_finished = true;
                        return Some(Err(unavailable));
                    }
                }
            }
        }
        None
    }

    /// One step; `None`: it found no other commit.
    async fn advance(&mut self) -> Result<Option<(ConversationKey, StoredMessage)>, Unavailable> {
        let Some(consumer) = &mut self.consumer else {
            self.start().await?;
            return Ok(None);
        };
        let found = consumer.next().await?;
        let sequence = found.sequence;
        self.is_finished = sequence >= self.last
            || (found.pending == 0 && self.record.is_exhausted(self.partition, sequence, self.last).await?);
        if sequence <= self.read {
            // A later consumer begins again. What it finds up to here was read, because it finds everything in order.
            return Ok(None);
        }
        self.read = sequence;
        self.outage.end();
        let message = found.message;
        let key = topology::key_of(&message.subject).filter(|_| !message.payload.is_empty());
        Ok(key.map(|key| {
            let position = Position { partition: self.partition, sequence };
            (key, StoredMessage { position, message: message.payload, trace: TraceHeaders::default() })
        }))
    }

    async fn start(&mut self) -> Result<(), Unavailable> {
        let (record, partition) = (&self.record, self.partition);
        // The server requires a filter; one of all subjects is not slower.
        let filter = format!("hansard.{partition}.>");
        let (name, policy) = (topology::stream_name(partition), DeliverPolicy::LastPerSubject);
        let consumer = Consumer::create(record.connection(), &name, policy, filter, record.deadline()).await?;
        // Read after the consumer was created, so the end includes all that the consumer found.
        let bounds = record.bounds_of(partition).await?;
        self.last = bounds.last;
        self.is_finished = bounds.first > bounds.last;
        self.consumer = Some(consumer);
        Ok(())
    }
}
