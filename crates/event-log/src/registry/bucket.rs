//! Conditional writes to the bucket and single reads of it.

use bytes::Bytes;
use domain::Sequence;
use futures::future::BoxFuture;
use prost::Message;

use super::seals::SecretEntry;
use super::{RegistryError, Shared};
use crate::Unavailable;
use crate::get::{MessageQuery, RawMessage};
use crate::put::Put;
use crate::topology::{REGISTRY_PREFIX, REGISTRY_STREAM};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PutOutcome {
    /// The value is stored, and in memory.
    Stored,
    /// The entry has another revision; memory has the current one now.
    Superseded,
}

impl Shared {
    /// Puts an entry if its current revision is `expected`; `None`: if it does not exist.
    ///
    /// The type of the future is erased: the futures of all changes contain it, and the compiler would examine it in each.
    pub(super) fn put<'a>(
        &'a self,
        key: &'a str,
        value: &impl Message,
        expected: Option<Sequence>,
    ) -> BoxFuture<'a, Result<PutOutcome, Unavailable>> {
        Box::pin(self.put_encoded(key, Bytes::from(value.encode_to_vec()), expected))
    }

    async fn put_encoded(
        &self,
        key: &str,
        value: Bytes,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        let (subject, rejected) = (subject(key), "the bucket rejected a change");
        let put = self.record.put(REGISTRY_STREAM, subject, expected, value.clone(), rejected);
        match put.await? {
            Put::Stored(revision) => {
                self.apply(key, revision, &value);
                Ok(PutOutcome::Stored)
            }
            Put::Superseded(last) => {
                if let Some(last) = last {
                    self.apply(key, last.sequence, &last.payload);
                }
                Ok(PutOutcome::Superseded)
            }
        }
    }

    /// Puts an entry, whose secrets are in plaintext or encrypted.
    pub(super) async fn put_with_secrets(
        &self,
        key: &str,
        mut entry: impl SecretEntry,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        let master = self.record.config().master_keys.for_registry();
        for (clear, sealed) in entry.secrets() {
            let secret = master.open_stored(key, clear, sealed)?;
            (*clear, *sealed) = master.to_stored(key, &secret)?;
        }
        self.put(key, &entry, expected).await
    }

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

    /// Reads an entry from the bucket's leader and applies it to memory. The type of the future is erased, as that of
    /// [`Shared::put`].
    pub(super) fn read_leader<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<RawMessage>, Unavailable>> {
        Box::pin(async move {
            let subject = subject(key);
            let last = MessageQuery::LastOfSubject(&subject);
            let message = self.record.get_from_leader(REGISTRY_STREAM, &last).await?;
            if let Some(message) = &message {
                self.apply(key, message.sequence, &message.payload);
            }
            Ok(message)
        })
    }
}

fn subject(key: &str) -> String {
    format!("{REGISTRY_PREFIX}{key}")
}
