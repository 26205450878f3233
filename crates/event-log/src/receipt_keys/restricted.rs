//! Reads and changes of the restricted bucket, and of what earlier versions kept in the registry's instead.

use bytes::Bytes;
use domain::Sequence;

use super::{RECEIPT_SEED_BYTES, ReceiptKeys};
use crate::error::Unavailable;
use crate::get::{RawMessage, Which};
use crate::headers::TraceHeaders;
use crate::publish::Publication;
use crate::record::Record;
use crate::seal::MasterKeys;
use crate::topology::{
    self, REGISTRY_PREFIX, REGISTRY_STREAM, RESTRICTED_PREFIX, RESTRICTED_STREAM,
};

/// The key of the one seed of earlier versions, in the registry's bucket.
const LEGACY_ENTRY: &str = "receipt.seed";

/// The receipt keys and the revision of their entry.
pub(super) struct Stored {
    pub(super) keys: ReceiptKeys,
    pub(super) revision: Sequence,
}

impl Stored {
    pub(super) fn of(message: &RawMessage, master: &MasterKeys) -> Result<Self, Unavailable> {
        Ok(Self {
            keys: ReceiptKeys::of_bytes(&message.payload, master)?,
            revision: message.sequence,
        })
    }
}

impl Record {
    /// An entry of the restricted bucket; `None`: there is no entry, or no bucket yet.
    pub(super) async fn restricted(&self, key: &str) -> Result<Option<RawMessage>, Unavailable> {
        let deadline = self.deadline();
        let connection = self.connection();
        let stream = topology::info(connection, RESTRICTED_STREAM, deadline).await?;
        if stream.is_none() {
            return Ok(None);
        }
        let subject = format!("{RESTRICTED_PREFIX}{key}");
        let last = Which::LastOf(&subject);
        connection
            .get_from_leader(RESTRICTED_STREAM, &last, deadline)
            .await
    }

    /// Puts an entry where the expected one is; the bucket is made where a restored record has none.
    pub(super) async fn put_restricted(
        &self,
        key: &str,
        value: Bytes,
        expected: Option<Sequence>,
    ) -> Result<(), Unavailable> {
        let deadline = self.deadline();
        topology::ensure_restricted(self.connection(), self.identity(), self.config(), deadline)
            .await?;
        self.put_entry(format!("{RESTRICTED_PREFIX}{key}"), value, expected)
            .await;
        Ok(())
    }

    /// The seed of an earlier version, and its revision.
    pub(super) async fn legacy_receipt_seed(
        &self,
    ) -> Result<Option<([u8; RECEIPT_SEED_BYTES], Sequence)>, Unavailable> {
        let subject = format!("{REGISTRY_PREFIX}{LEGACY_ENTRY}");
        let last = Which::LastOf(&subject);
        let connection = self.connection();
        let stored = connection.get_from_leader(REGISTRY_STREAM, &last, self.deadline());
        let stored = stored.await?.filter(|message| !message.payload.is_empty());
        let unreadable = Unavailable::new("the seed of receipts cannot be read");
        let seed = |message: RawMessage| {
            let seed = message
                .payload
                .as_ref()
                .try_into()
                .map_err(|_| unreadable)?;
            Ok((seed, message.sequence))
        };
        stored.map(seed).transpose()
    }

    /// Leaves an empty entry in its place: the bucket keeps one message a key.
    pub(super) async fn clear_legacy_receipt_seed(
        &self,
        revision: Sequence,
    ) -> Result<(), Unavailable> {
        let subject = format!("{REGISTRY_PREFIX}{LEGACY_ENTRY}");
        self.put_entry(subject, Bytes::new(), Some(revision)).await;
        let is_left = self.legacy_receipt_seed().await?.is_some();
        let left = Unavailable::new("the seed of receipts cannot be taken out of the registry");
        if is_left { Err(left) } else { Ok(()) }
    }

    /// The caller reads what is stored then, so the answer does not matter.
    async fn put_entry(&self, subject: String, payload: Bytes, expected: Option<Sequence>) {
        let publication = Publication {
            subject,
            id: None,
            expected,
            trace: &TraceHeaders::default(),
            payload,
        };
        let deadline = Self::ack_deadline(self.deadline());
        let _ = self.connection().publish(publication, deadline).await;
    }
}
