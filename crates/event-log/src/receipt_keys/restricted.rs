//! Reads and writes of the restricted bucket, and of the legacy seed in the registry's bucket.

use bytes::Bytes;
use domain::Sequence;

use super::{ENTRY, RECEIPT_SEED_BYTES, ReceiptKeys};
use crate::bucket::BucketEntry;
use crate::connection::publish::Publication;
use crate::error::Unavailable;
use crate::record::Record;
use crate::topology::{REGISTRY_PREFIX, RESTRICTED_PREFIX};

/// The key of the single seed of earlier versions in the registry's bucket.
const LEGACY_ENTRY: &str = "receipt.seed";

/// The receipt keys and the revision of their entry.
pub(super) struct StoredKeys {
    pub(super) keys: ReceiptKeys,
    pub(super) revision: Sequence,
}

impl Record {
    /// The keys; `None`: the entry or the bucket does not exist.
    pub(super) async fn stored_receipt_keys(&self) -> Result<Option<StoredKeys>, Unavailable> {
        let bucket = self.restricted_bucket();
        if !bucket.exists().await? {
            return Ok(None);
        }
        let stored = bucket.get(ENTRY).await?.map(|entry| {
            Ok(StoredKeys {
                keys: ReceiptKeys::from_bytes(&entry.value, &self.config().master_keys)?,
                revision: entry.revision,
            })
        });
        stored.transpose()
    }

    /// Puts the keys if the entry's current revision is `expected`; creates the bucket if a restored record has none. The caller reads
    /// the stored entry afterwards: another process may have been faster.
    pub(super) async fn put_receipt_keys(
        &self,
        keys: &ReceiptKeys,
        expected: Option<Sequence>,
    ) -> Result<(), Unavailable> {
        let bytes = keys.to_bytes(&self.config().master_keys)?;
        self.ensure_restricted_bucket().await?;
        self.put_entry(format!("{RESTRICTED_PREFIX}{ENTRY}"), bytes, expected).await;
        Ok(())
    }

    /// The seed of an earlier version, and its revision.
    pub(super) async fn legacy_receipt_seed(
        &self,
    ) -> Result<Option<([u8; RECEIPT_SEED_BYTES], Sequence)>, Unavailable> {
        let stored = self.registry_bucket().get(LEGACY_ENTRY).await?.filter(|entry| !entry.value.is_empty());
        let unreadable = Unavailable::new("the legacy seed of receipt keys cannot be decoded");
        let seed = |entry: BucketEntry| {
            let seed = entry.value.as_ref().try_into();
            Ok((seed.map_err(|_| unreadable)?, entry.revision))
        };
        stored.map(seed).transpose()
    }

    /// Replaces the seed by an empty entry: the bucket keeps one message per key.
    pub(super) async fn clear_legacy_receipt_seed(&self, revision: Sequence) -> Result<(), Unavailable> {
        let subject = format!("{REGISTRY_PREFIX}{LEGACY_ENTRY}");
        self.put_entry(subject, Bytes::new(), Some(revision)).await;
        match self.legacy_receipt_seed().await? {
            None => Ok(()),
            Some(_) => Err(Unavailable::new("the legacy seed cannot be removed")),
        }
    }

    /// Ignores the outcome: the caller reads the stored entry afterwards.
    async fn put_entry(&self, subject: String, payload: Bytes, expected: Option<Sequence>) {
        let publication = Publication { subject, expected, payload, ..Publication::default() };
        let deadline = Self::ack_deadline(self.deadline());
        let _ = self.connection().publish(publication, deadline).await;
    }
}
