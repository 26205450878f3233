//! The batched Direct Get: several messages of a subject in one request. The client library has single gets only.
//!
//! The replies go to an own inbox: each message with its sequence, the sequence before it in the batch and the number
//! that follow; then a message of status 204. An empty batch is a single 404.

use async_nats::{Message, StatusCode, Subscriber};
use bytes::Bytes;
use domain::Sequence;
use futures::StreamExt as _;
use serde::Serialize;
use tokio::time::{Instant, timeout_at};

use crate::connection::Connection;
use crate::connection::get::{self, RawMessage};
use crate::connection::read_limit::Source;
use crate::connection::reads::{BATCH_TIMED_OUT, BATCH_TIMEOUT};
use crate::error::Unavailable;
use crate::headers;

/// Most messages of one batch; the subscription buffers all of them.
pub(crate) const BATCH_MESSAGES_MAX: usize = 1_000;

/// A batched read of a subject.
#[derive(Debug, Serialize)]
pub(crate) struct BatchRequest<'a> {
    #[serde(flatten)]
    pub(crate) from: From,
    #[serde(rename = "next_by_subj")]
    pub(crate) subject: &'a str,
    #[serde(rename = "batch")]
    pub(crate) messages_max: usize,
    #[serde(rename = "max_bytes")]
    pub(crate) bytes_max: usize,
}

/// The start of a batch.
#[derive(Debug, Clone, Serialize)]
pub(crate) enum From {
    #[serde(rename = "seq")]
    Sequence(u64),
    /// A time of the server's clock (RFC 3339).
    #[serde(rename = "start_time")]
    Time(String),
}

/// Messages of one subject, in order, without gaps.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) messages: Vec<RawMessage>,
    /// How many more messages the subject has.
    pub(crate) pending: u64,
}

impl From {
    /// The next sequence.
    pub(crate) fn after(sequence: Sequence) -> Self {
        Self::Sequence(sequence.0.saturating_add(1))
    }
}

impl Connection {
    /// Reads a batch of at most `messages_max` messages from any replica.
    pub(crate) async fn batch(
        &self,
        stream: &str,
        request: &impl Serialize,
        messages_max: usize,
        deadline: Instant,
    ) -> Result<Batch, Unavailable> {
        let payload: Bytes =
            serde_json::to_vec(request).map_err(|_| Unavailable::new("a batch request cannot be encoded"))?.into();
        let subject = self.api_subject(&format!("DIRECT.GET.{stream}"));
        let read = || {
            let attempt_deadline = deadline.min(Instant::now() + BATCH_TIMEOUT);
            self.read_batch(&subject, &payload, messages_max, attempt_deadline)
        };
        // Boxed, so that the futures of all readers stay small.
        Box::pin(self.read(Source::Replica, deadline, read)).await
    }

    async fn read_batch(
        &self,
        subject: &str,
        payload: &Bytes,
        messages_max: usize,
        deadline: Instant,
    ) -> Result<Batch, Unavailable> {
        self.ready(deadline).await?;
        let sent_on = self.connects();
        let inbox = self.client.new_inbox();
        let subscribing = async {
            let replies = self.client.subscribe(inbox.clone()).await.ok()?;
            let (subject, payload) = (subject.to_owned(), payload.clone());
            self.client.publish_with_reply(subject, inbox, payload).await.ok()?;
            Some(replies)
        };
        let lost = Unavailable::new("the connection was lost");
        let replies = timeout_at(deadline, subscribing).await.ok().flatten().ok_or(lost)?;
        let collecting = Self::collect(replies, messages_max);
        let mut reconnects = self.reconnects();
        let is_lost = reconnects.wait_for(|connects| *connects > sent_on);
        let collected = tokio::select! {
            biased;
            collected = timeout_at(deadline, collecting) => collected,
            _ = is_lost => return Err(lost),
        };
        collected.map_err(|_| BATCH_TIMED_OUT)?
    }

    async fn collect(mut replies: Subscriber, messages_max: usize) -> Result<Batch, Unavailable> {
        let mut batch = Batch::default();
        while let Some(reply) = replies.next().await {
            if batch.take(&reply)? {
                return Ok(batch);
            }
            if batch.messages.len() > messages_max {
                return Err(Unavailable::new("a batch had more messages than requested"));
            }
        }
        Err(Unavailable::new("the connection was lost"))
    }
}

impl Batch {
    /// Adds a reply; returns whether it was the last one.
    fn take(&mut self, reply: &Message) -> Result<bool, Unavailable> {
        let headers = reply.headers.as_ref();
        match reply.status {
            Some(StatusCode::NOT_FOUND) if self.messages.is_empty() => return Ok(true),
            Some(status) if status.as_u16() == END_OF_BATCH => {
                self.check_order(headers.and_then(headers::last_sequence_of))?;
                self.pending = headers.and_then(headers::pending_of).unwrap_or(0);
                return Ok(true);
            }
            Some(StatusCode::NO_RESPONDERS) => {
                return Err(Unavailable::new("no server serves the stream"));
            }
            Some(_) => return Err(Unavailable::new("the server rejected a batch read")),
            None => {}
        }
        self.check_order(headers.and_then(headers::last_sequence_of))?;
        self.messages.push(get::parse_direct_reply(headers, &reply.payload)?);
        Ok(false)
    }

    /// Detects a lost reply: each reply names the sequence before it.
    fn check_order(&self, before: Option<u64>) -> Result<(), Unavailable> {
        let last = self.messages.last().map_or(0, |message| message.sequence.0);
        if before == Some(last) {
            return Ok(());
        }
        Err(Unavailable::new("a message of a batch was lost"))
    }

    /// The converted messages, and the sequence to continue after; `None`: the subject has no more messages.
    pub(crate) fn into_page<T>(self, convert: impl Fn(RawMessage) -> T) -> (Vec<T>, Option<Sequence>) {
        let resume_after = self.resume_after();
        (self.messages.into_iter().map(convert).collect(), resume_after)
    }

    /// The sequence to continue after; `None`: the subject has no more messages.
    pub(crate) fn resume_after(&self) -> Option<Sequence> {
        self.last_sequence().filter(|_| self.pending > 0)
    }

    pub(crate) fn last_sequence(&self) -> Option<Sequence> {
        self.messages.last().map(|message| message.sequence)
    }
}

const END_OF_BATCH: u16 = 204;
