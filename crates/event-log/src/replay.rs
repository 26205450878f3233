//! Publishing the record's messages again, under subjects of somebody else.

use std::collections::VecDeque;
use std::fmt;

use async_nats::HeaderMap;
use async_nats::header::NATS_MESSAGE_ID;
use async_nats::jetstream::context::PublishAckFuture;
use domain::ConversationKey;
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use tokio::time::timeout_at;

use crate::error::Unavailable;
use crate::message::StoredMessage;
use crate::record::Record;

/// Most bytes of a prefix.
pub const REPLAY_PREFIX_BYTES_MAX: usize = 128;
/// Messages that may wait for their acknowledgement at a time.
const WAITING_MAX: usize = 256;
/// The first words of subjects that are the record's own, its readers', or the server's.
const RESERVED: [&str; 6] = [
    "hansard",
    "hansard-archive",
    "hansard_erasures",
    "hansard_parts",
    "live",
    "_INBOX",
];

/// What the subjects of a replay begin with: never one of the record's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayPrefix(String);

/// A prefix that nothing may be replayed under.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the subject {given} {problem}")]
pub struct ReplayPrefixError {
    given: String,
    problem: String,
}

impl ReplayPrefix {
    /// A prefix of words of ASCII letters, digits, `-` and `_` with dots between them, 1 to [`REPLAY_PREFIX_BYTES_MAX`] bytes.
    ///
    /// # Errors
    /// [`ReplayPrefixError`], also where it is one that the record, its readers or the server use.
    pub fn parse(text: &str) -> Result<Self, ReplayPrefixError> {
        let refused = |problem: String| ReplayPrefixError {
            given: format!("{text:?}"),
            problem,
        };
        if text.len() > REPLAY_PREFIX_BYTES_MAX {
            let bound = format!("is longer than {REPLAY_PREFIX_BYTES_MAX} bytes");
            return Err(refused(bound));
        }
        let is_word = |word: &str| {
            let mut bytes = word.bytes();
            !word.is_empty() && bytes.all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
        };
        if !text.split('.').all(is_word) {
            let form = "is not of words of letters, digits, - and _ with dots between them";
            return Err(refused(form.to_owned()));
        }
        let first = text.split('.').next().unwrap_or_default();
        if RESERVED.contains(&first) {
            return Err(refused(format!(
                "begins with {first}, which is not for replays"
            )));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for ReplayPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    streams: Option<Vec<String>>,
}

/// A replay under way. What was published counts only once it is [settled](Replay::settle).
pub struct Replay {
    record: Record,
    prefix: ReplayPrefix,
    stream: Option<String>,
    waiting: VecDeque<PublishAckFuture>,
}

impl Record {
    /// Begins to replay under a prefix. Where a stream keeps those subjects, each message is acknowledged by it; else they go
    /// to whoever listens.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn replay(&self, prefix: ReplayPrefix) -> Result<Replay, Unavailable> {
        let filter = json!({ "subject": format!("{prefix}.>") });
        let connection = self.connection();
        let subject = connection.api_subject("STREAM.NAMES");
        let names = connection.api(subject, &filter, self.deadline());
        let names: Names = names.await?;
        Ok(Replay {
            record: self.clone(),
            prefix,
            stream: names.streams.unwrap_or_default().into_iter().next(),
            waiting: VecDeque::with_capacity(WAITING_MAX),
        })
    }
}

impl Replay {
    /// The stream that keeps what is replayed; `None`: only those who listen get it.
    #[must_use]
    pub fn stream(&self) -> Option<&str> {
        self.stream.as_deref()
    }

    /// Publishes a message of the record, as it is, under `<prefix>.<partition>.<tenant>.<conversation>`. Its message id names
    /// its place in the record, so that a stream takes a second copy within its duplicate window for the first.
    ///
    /// # Errors
    /// [`Unavailable`]: what was not settled may have been published or not.
    pub async fn publish(
        &mut self,
        key: &ConversationKey,
        message: &StoredMessage,
    ) -> Result<(), Unavailable> {
        let position = message.position;
        let (tenant, conversation) = (&key.tenant, &key.conversation);
        let prefix = &self.prefix;
        let subject = format!("{prefix}.{}.{tenant}.{conversation}", position.partition);
        let mut headers = HeaderMap::new();
        let record = hex::encode(self.record.id().0);
        let id = format!("{record}.{}.{}", position.partition, position.sequence);
        headers.insert(NATS_MESSAGE_ID, id.as_str());
        let payload = message.message.clone();
        let connection = self.record.connection();
        connection.ready(self.record.deadline()).await?;
        if self.stream.is_none() {
            let published = connection
                .client
                .publish_with_headers(subject, headers, payload);
            return published.await.map_err(|_| not_published());
        }
        let publishing = connection
            .jetstream
            .publish_with_headers(subject, headers, payload);
        let waits = publishing.await.map_err(|_| not_published())?;
        self.waiting.push_back(waits);
        if self.waiting.len() >= WAITING_MAX {
            self.settle_oldest().await?;
        }
        Ok(())
    }

    /// Waits until all that was published has arrived: in the stream, or at the server where there is none.
    ///
    /// # Errors
    /// [`Unavailable`]: what was published since the last time may have arrived or not.
    pub async fn settle(&mut self) -> Result<(), Unavailable> {
        while !self.waiting.is_empty() {
            self.settle_oldest().await?;
        }
        let flushed = self.record.connection().client.flush();
        let flushed = timeout_at(self.record.deadline(), flushed).await;
        flushed.ok().and_then(Result::ok).ok_or(not_published())
    }

    async fn settle_oldest(&mut self) -> Result<(), Unavailable> {
        match self.waiting.pop_front() {
            Some(oldest) => oldest.await.map(drop).map_err(|_| not_published()),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay")
            .field("prefix", &self.prefix)
            .field("stream", &self.stream)
            .field("waiting", &self.waiting.len())
            .finish_non_exhaustive()
    }
}

fn not_published() -> Unavailable {
    Unavailable::new("a replayed message did not arrive")
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
    fn only_subjects_of_others_are_prefixes() {
        check("copy", None);
        check("team-a.copies_2", None);
        check("hansard", Some("begins with hansard,"));
        check("hansard.3", Some("begins with hansard,"));
        check("hansard-archive.3", Some("begins with hansard-archive,"));
        check("hansard_parts.x", Some("begins with hansard_parts"));
        check("live.hansard", Some("begins with live"));
        check("_INBOX.x", Some("begins with _INBOX"));
        for text in ["", ".", "a..b", "a.*", "a.>", "$JS.API", "a b", "é"] {
            check(text, Some("is not of words"));
        }
        check(&"a".repeat(REPLAY_PREFIX_BYTES_MAX), None);
        check(&"a".repeat(129), Some("longer than 128 bytes"));
    }
}
