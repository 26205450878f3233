//! Conditional writes to the bucket and single reads of it.

use bytes::Bytes;
use domain::Sequence;
use prost::Message;
use uuid::Uuid;

use super::Shared;
use super::error::RegistryError;
use crate::error::Unavailable;
use crate::get::{MessageQuery, RawMessage};
use crate::headers::TraceHeaders;
use crate::publish::{Ack, Publication};
use crate::record::Record;
use crate::topology::{REGISTRY_PREFIX, REGISTRY_STREAM};

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutOutcome {
    /// The value is stored, and in memory.
    Stored,
    /// The entry has another revision; memory has the current one now.
    Superseded,
}

impl Shared {
    /// Puts an entry if its current revision is `expected`; `None`: if it does not exist.
    pub(super) async fn put(
        &self,
        key: &str,
        value: &impl Message,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        let value = Bytes::from(value.encode_to_vec());
        let deadline = self.record.deadline();
        let publication = Publication {
            subject: subject(key),
            id: Some(&Uuid::new_v4().to_string()),
            expected,
            trace: &TraceHeaders::default(),
            payload: value.clone(),
        };
        let ack_deadline = Record::ack_deadline(deadline);
        let answer = self.record.connection().publish(publication, ack_deadline);
        let unresolved = match answer.await {
            Ok(Ack::Stored(revision) | Ack::Duplicate(revision)) => {
                self.apply(key, revision, &value);
                return Ok(PutOutcome::Stored);
            }
            Ok(Ack::Refused { .. }) => Unavailable::new("the bucket rejected a change"),
            Err(unavailable) => unavailable,
        };
        let last = self.read_leader(key).await?;
        match last {
            Some(last) if last.payload == value => Ok(PutOutcome::Stored),
            last if last.as_ref().map(|last| last.sequence) == expected => Err(unresolved),
            _ => Ok(PutOutcome::Superseded),
        }
    }

    /// Creates an entry.
    pub(super) async fn create(
        &self,
        key: &str,
        value: &impl Message,
        what: &'static str,
    ) -> Result<(), RegistryError> {
        match self.put(key, value, None).await? {
            PutOutcome::Stored => Ok(()),
            PutOutcome::Superseded => Err(RegistryError::AlreadyExists { what }),
        }
    }

    /// Reads an entry from the bucket's leader and applies it to memory.
    pub(super) async fn read_leader(&self, key: &str) -> Result<Option<RawMessage>, Unavailable> {
        let subject = subject(key);
        let last = MessageQuery::LastOfSubject(&subject);
        let message = self.record.get_from_leader(REGISTRY_STREAM, &last).await?;
        if let Some(message) = &message {
            self.apply(key, message.sequence, &message.payload);
        }
        Ok(message)
    }

    /// Looks up an unknown entry and applies it to memory, if the rate limit allows it.
    pub(super) async fn look_up(&self, key: &str) {
        if self.lookup_limiter.try_acquire() {
            // After a failed read the caller uses the entries in memory.
            let _ = self.read_leader(key).await;
        }
    }
}

fn subject(key: &str) -> String {
    format!("{REGISTRY_PREFIX}{key}")
}
