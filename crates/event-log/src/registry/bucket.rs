//! Changes of the bucket, each conditional on what it changes, and single reads of it.

use bytes::Bytes;
use domain::Sequence;
use prost::Message;
use uuid::Uuid;

use super::Shared;
use super::error::RegistryError;
use crate::error::Unavailable;
use crate::get::{RawMessage, Which};
use crate::headers::TraceHeaders;
use crate::publish::{Ack, Publication};
use crate::record::Record;
use crate::topology::{REGISTRY_PREFIX, REGISTRY_STREAM};

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It is made, and in memory.
    Made,
    /// The entry is another than expected; memory has it now.
    Superseded,
}

impl Shared {
    /// Puts an entry in the place of the expected one; `None`: there must be none.
    pub(super) async fn put(
        &self,
        key: &str,
        value: &impl Message,
        expected: Option<Sequence>,
    ) -> Result<Change, Unavailable> {
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
        let unsettled = match answer.await {
            Ok(Ack::Stored(revision) | Ack::Duplicate(revision)) => {
                self.apply(key, revision, &value);
                return Ok(Change::Made);
            }
            Ok(Ack::Refused { .. }) => Unavailable::new("the bucket refused a change"),
            Err(unavailable) => unavailable,
        };
        let last = self.read_leader(key).await?;
        match last {
            Some(last) if last.payload == value => Ok(Change::Made),
            last if last.as_ref().map(|last| last.sequence) == expected => Err(unsettled),
            _ => Ok(Change::Superseded),
        }
    }

    /// Makes an entry that must not be there yet.
    pub(super) async fn create(
        &self,
        key: &str,
        value: &impl Message,
        what: &'static str,
    ) -> Result<(), RegistryError> {
        match self.put(key, value, None).await? {
            Change::Made => Ok(()),
            Change::Superseded => Err(RegistryError::AlreadyExists { what }),
        }
    }

    /// Reads an entry from the bucket's leader into memory.
    pub(super) async fn read_leader(&self, key: &str) -> Result<Option<RawMessage>, Unavailable> {
        let subject = subject(key);
        let query = Which::LastOf(&subject);
        let connection = self.record.connection();
        let deadline = self.record.deadline();
        let message = connection
            .get_from_leader(REGISTRY_STREAM, &query, deadline)
            .await?;
        if let Some(message) = &message {
            self.apply(key, message.sequence, &message.payload);
        }
        Ok(message)
    }

    /// Looks up an entry that memory does not know, if the bound on such lookups allows it; memory has it then.
    pub(super) async fn look_up(&self, key: &str) {
        if self.lookups.take() {
            // Without an answer, what memory knows stands.
            let _ = self.read_leader(key).await;
        }
    }
}

fn subject(key: &str) -> String {
    format!("{REGISTRY_PREFIX}{key}")
}
