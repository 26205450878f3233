//! Publishes messages of the record again, under another subject prefix.

use std::collections::VecDeque;
use std::fmt;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::context::{PublishAckFuture, PublishErrorKind};
use bytes::Bytes;
use domain::ConversationKey;
use serde_json::json;
use thiserror::Error;
use tokio::time::timeout_at;

use crate::connection::outage::Outage;
use crate::error::Unavailable;
use crate::message::StoredMessage;
use crate::record::Record;

/// Maximum bytes of a prefix.
pub const REPLAY_PREFIX_BYTES_MAX: usize = 128;
/// Maximum unacknowledged messages.
const WAITING_MAX: usize = 256;
/// First tokens of subjects that the record, its readers or the server use.
const RESERVED: [&str; 9] = [
    "hansard",
    "hansard-archive",
    "hansard-layout",
    "hansard-restoring",
    "hansard_erasures",
    "hansard_logs",
    "hansard_parts",
    "live",
    "_INBOX",
];

/// The subject prefix of a replay, which is never a prefix of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPrefix(String);

/// An invalid or reserved prefix.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the subject {given} {problem}")]
pub struct ReplayPrefixError {
    given: String,
    problem: String,
}

impl ReplayPrefix {
    /// Parses tokens of ASCII letters, digits, `-` and `_` with dots between them, 1 to [`REPLAY_PREFIX_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// [`ReplayPrefixError`], also for a prefix that the record, its readers or the server use.
    pub fn parse(text: &str) -> Result<Self, ReplayPrefixError> {
        let rejected = |problem: String| ReplayPrefixError { given: format!("{text:?}"), problem };
        if text.len() > REPLAY_PREFIX_BYTES_MAX {
            let bound = format!("is longer than {REPLAY_PREFIX_BYTES_MAX} bytes");
            return Err(rejected(bound));
        }
        let is_word = |word: &str| {
            let mut bytes = word.bytes();
            !word.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        if !text.split('.').all(is_word) {
            let form = "must be words of letters, digits, - and _ with dots between them";
            return Err(rejected(form.to_owned()));
        }
        let first = text.split('.').next().unwrap_or_default();
        if RESERVED.contains(&first) {
            return Err(rejected(format!("starts with {first}, which is reserved")));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ReplayPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A replay in progress. Published messages are certain only after [`Replay::settle`].
pub struct Replay {
    record: Record,
    prefix: ReplayPrefix,
    stream: Option<String>,
    waiting: VecDeque<(ReplayedMessage, PublishAckFuture)>,
}

#[derive(Clone)]
struct ReplayedMessage {
    subject: String,
    headers: HeaderMap,
    payload: Bytes,
}

impl Record {
    /// Starts a replay under a prefix. If a stream stores these subjects, it acknowledges each message; otherwise only current
    /// subscribers get them.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn replay(&self, prefix: ReplayPrefix) -> Result<Replay, Unavailable> {
        let filter = json!({ "subject": format!("{prefix}.>") });
        let stream = self.connection().any_stream(&filter, self.deadline());
        Ok(Replay {
            record: self.clone(),
            prefix,
            stream: stream.await?,
            waiting: VecDeque::with_capacity(WAITING_MAX),
        })
    }
}

impl Replay {
    /// The stream that stores the replay; `None`: only current subscribers get it.
    #[must_use]
    pub fn stream(&self) -> Option<&str> {
        self.stream.as_deref()
    }

    /// Publishes a message of the record unchanged under `<prefix>.<partition>.<tenant>.<conversation>`. Its message id contains
    /// its position, so a stream drops a second copy within its duplicate window. A message without an acknowledgement is published again
    /// until [`OUTAGE_MAX`](crate::OUTAGE_MAX), and may follow later ones then.
    ///
    /// # Errors
    /// [`Unavailable`]: the outcome of unsettled messages is unknown.
    pub async fn publish(&mut self, key: &ConversationKey, message: &StoredMessage) -> Result<(), Unavailable> {
        let position = message.position;
        let (tenant, conversation) = (&key.tenant, &key.conversation);
        let prefix = &self.prefix;
        let subject = format!("{prefix}.{}.{tenant}.{conversation}", position.partition);
        let mut headers = HeaderMap::new();
        let record = hex::encode(self.record.id().0);
        let id = format!("{record}.{}.{}", position.partition, position.sequence);
        headers.insert(NATS_MESSAGE_ID, id.as_str());
        let message = ReplayedMessage { subject, headers, payload: message.message.clone() };
        if self.stream.is_none() {
            let ReplayedMessage { subject, headers, payload } = message;
            let connection = self.record.connection();
            connection.ready(self.record.deadline()).await?;
            let published = connection.client.publish_with_headers(subject, headers, payload);
            return published.await.map_err(|_| not_published());
        }
        let ack = self.send(message.clone()).await?;
        self.waiting.push_back((message, ack));
        if self.waiting.len() >= WAITING_MAX {
            self.settle_oldest().await?;
        }
        Ok(())
    }

    /// Waits until all published messages are in the stream, or at the server without a stream.
    ///
    /// # Errors
    /// [`Unavailable`]: the outcome of messages since the last call is unknown.
    pub async fn settle(&mut self) -> Result<(), Unavailable> {
        while !self.waiting.is_empty() {
            self.settle_oldest().await?;
        }
        let flushed = timeout_at(self.record.deadline(), self.record.connection().client.flush()).await;
        flushed.ok().and_then(Result::ok).ok_or(not_published())
    }

    async fn settle_oldest(&mut self) -> Result<(), Unavailable> {
        let Some((message, ack)) = self.waiting.pop_front() else {
            return Ok(());
        };
        let (mut acknowledged, mut outage) = (ack.await, Outage::default());
        while let Err(error) = acknowledged {
            // Another error is the stream's answer, such as that it is full.
            if !is_outage(error.kind()) || !outage.wait().await {
                return Err(not_published());
            }
            acknowledged = self.send(message.clone()).await?.await;
        }
        Ok(())
    }

    async fn send(&self, message: ReplayedMessage) -> Result<PublishAckFuture, Unavailable> {
        let ReplayedMessage { subject, headers, payload } = message;
        let connection = self.record.connection();
        connection.ready(self.record.deadline()).await?;
        let publishing = connection.jetstream.publish_with_headers(subject, headers, payload);
        publishing.await.map_err(|_| not_published())
    }
}

fn is_outage(kind: PublishErrorKind) -> bool {
    matches!(kind, PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe | PublishErrorKind::StreamNotFound)
}

fn not_published() -> Unavailable {
    Unavailable::new("a replayed message was not acknowledged")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, problem: Option<&str>) {
        match (ReplayPrefix::parse(text), problem) {
            (Ok(prefix), None) => assert_eq!(prefix.to_string(), text),
            (Err(error), Some(problem)) => {
                assert!(error.to_string().contains(problem), "{error}");
            }
            (outcome, _) => panic!("{text}: {outcome:?}"),
        }
    }

    #[test]
    fn reserved_prefixes_are_rejected() {
        check("copy", None);
        check("team-a.copies_2", None);
        check("hansard", Some("starts with hansard,"));
        check("hansard.3", Some("starts with hansard,"));
        check("hansard-archive.3", Some("starts with hansard-archive,"));
        check("hansard_parts.x", Some("starts with hansard_parts"));
        check("hansard_logs", Some("starts with hansard_logs,"));
        check("hansard-restoring", Some("starts with hansard-restoring,"));
        check("live.hansard", Some("starts with live"));
        check("_INBOX.x", Some("starts with _INBOX"));
        for text in ["", ".", "a..b", "a.*", "a.>", "$JS.API", "a b", "é"] {
            check(text, Some("must be words"));
        }
        check(&"a".repeat(REPLAY_PREFIX_BYTES_MAX), None);
        check(&"a".repeat(129), Some("longer than 128 bytes"));
    }
}
