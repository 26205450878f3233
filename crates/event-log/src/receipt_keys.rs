//! The keys that sign erasure receipts, and the secret that marks tombstones and endorses people of the dashboard. They are one entry of
//! the restricted bucket, which only writers and operators read.
//!
//! The newest key signs. A rotated key keeps only its public half: its receipts stay verifiable, and it signs no more. The
//! mark secret never changes, because tombstones cannot be marked again.

mod encoding;
mod restricted;

use domain::Timestamp;

pub use encoding::{ReceiptKey, ReceiptKeys, receipt_key_id};

use crate::error::Unavailable;
use crate::record::Record;

/// Bytes of the seed of an Ed25519 key (RFC 8032), and of the mark secret.
pub const RECEIPT_SEED_BYTES: usize = 32;
/// Maximum keys of a record, including rotated ones.
pub const RECEIPT_KEYS_MAX: usize = 256;
/// The entry's key in the bucket.
const ENTRY: &str = "receipt.keys";
/// Maximum attempts of a change while other processes change the entry.
const CHANGES_MAX: usize = 4;

const CONTENDED: Unavailable = Unavailable::new("the receipt keys keep changing");
const TOO_MANY: Unavailable = Unavailable::new("the record has the maximum of 256 receipt keys");

impl Record {
    /// The keys; created at the first call. Only public halves may be shown or logged.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn receipt_keys(&self, at: Timestamp) -> Result<ReceiptKeys, Unavailable> {
        for _ in 0..CHANGES_MAX {
            if let Some(stored) = self.stored_receipt_keys().await? {
                return Ok(stored.keys);
            }
            let created = match self.legacy_receipt_seed().await? {
                Some((seed, _)) => ReceiptKeys::from_legacy(seed, at)?,
                None => ReceiptKeys::generate(at)?,
            };
            self.put_receipt_keys(&created, None).await?;
        }
        Err(CONTENDED)
    }

    /// The existing keys; `None`: no receipt was ever signed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn existing_receipt_keys(&self) -> Result<Option<ReceiptKeys>, Unavailable> {
        if let Some(stored) = self.stored_receipt_keys().await? {
            return Ok(Some(stored.keys));
        }
        let legacy = self.legacy_receipt_seed().await?;
        let keys = legacy.map(|(seed, _)| ReceiptKeys::from_legacy(seed, Timestamp(0)));
        keys.transpose()
    }

    /// Creates a new signing key and deletes the seed of the previous one.
    ///
    /// # Errors
    /// [`Unavailable`], also at [`RECEIPT_KEYS_MAX`] keys.
    pub async fn rotate_receipt_key(&self, at: Timestamp) -> Result<ReceiptKeys, Unavailable> {
        self.receipt_keys(at).await?;
        for _ in 0..CHANGES_MAX {
            let stored = self.stored_receipt_keys().await?.ok_or(CONTENDED)?;
            if stored.keys.list().len() >= RECEIPT_KEYS_MAX {
                return Err(TOO_MANY);
            }
            let rotated = stored.keys.rotated(at)?;
            self.put_receipt_keys(&rotated, Some(stored.revision)).await?;
            let now = self.stored_receipt_keys().await?;
            if let Some(now) = now.filter(|now| now.keys == rotated) {
                return Ok(now.keys);
            }
        }
        Err(CONTENDED)
    }

    /// Encrypts the secrets with the current master key. Idempotent; does nothing without keys.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn reseal_receipt_keys(&self) -> Result<(), Unavailable> {
        for _ in 0..CHANGES_MAX {
            let Some(stored) = self.stored_receipt_keys().await? else {
                return Ok(());
            };
            self.put_receipt_keys(&stored.keys, Some(stored.revision)).await?;
            let now = self.stored_receipt_keys().await?;
            if now.is_some_and(|now| now.revision > stored.revision && now.keys == stored.keys) {
                return Ok(());
            }
        }
        Err(CONTENDED)
    }

    /// Moves the seed of an earlier version out of the registry's bucket, which gateways can read. Writers call it when they
    /// start. Idempotent.
    ///
    /// # Errors
    /// [`Unavailable`]: call again.
    pub async fn move_legacy_receipt_seed(&self, at: Timestamp) -> Result<(), Unavailable> {
        let Some((_, revision)) = self.legacy_receipt_seed().await? else {
            return Ok(());
        };
        self.receipt_keys(at).await?;
        self.clear_legacy_receipt_seed(revision).await
    }
}
