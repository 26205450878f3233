//! Conditional writes to the bucket and single reads of it.

use bytes::Bytes;
use domain::Sequence;
use event_log::{BucketEntry, BucketPut, Unavailable};
use futures::future::BoxFuture;
use prost::Message;

use crate::seals::SecretEntry;
use crate::{RegistryError, Shared};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    /// The value is stored, and in memory.
    Stored,
    /// The entry has another revision; memory has the current one now.
    Superseded,
}

impl Shared {
    /// Puts an entry if its current revision is `expected`; `None`: if it does not exist.
    ///
    /// The type of the future is erased: the futures of all changes contain it, and the compiler would examine it in each.
    pub(crate) fn put<'a>(
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
        let put = self.bucket.put(key, value.clone(), expected, "the bucket rejected a change");
        match put.await? {
            BucketPut::Stored(revision) => {
                self.apply(key, revision, &value);
                Ok(PutOutcome::Stored)
            }
            BucketPut::Superseded(current) => {
                if let Some(current) = current {
                    self.apply(key, current.revision, &current.value);
                }
                Ok(PutOutcome::Superseded)
            }
        }
    }

    /// Puts an entry, whose secrets are in plaintext or encrypted.
    pub(crate) async fn put_with_secrets(
        &self,
        key: &str,
        mut entry: impl SecretEntry,
        expected: Option<Sequence>,
    ) -> Result<PutOutcome, Unavailable> {
        let master = self.record.registry_keys();
        for (clear, sealed) in entry.secrets() {
            let secret = master.open_stored(key, clear, sealed)?;
            (*clear, *sealed) = master.to_stored(key, &secret)?;
        }
        self.put(key, &entry, expected).await
    }

    pub(crate) async fn create(
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
    pub(crate) fn read_leader<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<BucketEntry>, Unavailable>> {
        Box::pin(async move {
            let entry = self.bucket.get(key).await?;
            if let Some(entry) = &entry {
                self.apply(key, entry.revision, &entry.value);
            }
            Ok(entry)
        })
    }
}
