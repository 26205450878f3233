//! The keys that sign receipts of erasures, and the secret that marks tombstones. One entry of the restricted bucket, which
//! writers and operators read, and gateways and projectors do not.
//!
//! The newest key signs. A rotated key keeps its public half only, so that its receipts stay verifiable and nobody can sign
//! by it again. The mark secret stays: tombstones cannot be marked anew.

mod form;
mod restricted;

use domain::{Sequence, Timestamp};

pub use form::{ReceiptKey, ReceiptKeys, receipt_key_id};
use restricted::Stored;

use crate::error::Unavailable;
use crate::record::Record;

/// Bytes of the seed of an Ed25519 key (RFC 8032), and of the secret of marks.
pub const RECEIPT_SEED_BYTES: usize = 32;
/// Most keys of a record, rotated ones among them.
pub const RECEIPT_KEYS_MAX: usize = 256;
/// The key of the entry of the receipt keys.
const ENTRY: &str = "receipt.keys";
/// Most times that a change is tried while others change the entry.
const CHANGES_MAX: usize = 4;

const CONTENDED: Unavailable = Unavailable::new("the receipt keys keep changing");
const TOO_MANY: Unavailable = Unavailable::new("there are as many receipt keys as there may be");

impl Record {
    /// The keys, made when they are first needed. Never to be shown or logged but for their public halves.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn receipt_keys(&self, at: Timestamp) -> Result<ReceiptKeys, Unavailable> {
        for _ in 0..CHANGES_MAX {
            if let Some(stored) = self.stored_receipt_keys().await? {
                return Ok(stored.keys);
            }
            let made = match self.legacy_receipt_seed().await? {
                Some((seed, _)) => ReceiptKeys::of_legacy(seed, at)?,
                None => ReceiptKeys::generate(at)?,
            };
            self.put_receipt_keys(&made, None).await?;
        }
        Err(CONTENDED)
    }

    /// The keys, where they have been needed before; `None`: no receipt was ever signed.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn receipt_keys_made(&self) -> Result<Option<ReceiptKeys>, Unavailable> {
        if let Some(stored) = self.stored_receipt_keys().await? {
            return Ok(Some(stored.keys));
        }
        let legacy = self.legacy_receipt_seed().await?;
        let keys = legacy.map(|(seed, _)| ReceiptKeys::of_legacy(seed, Timestamp(0)));
        keys.transpose()
    }

    /// Makes a new key that signs from now on, and forgets the seed of the one before.
    ///
    /// # Errors
    /// [`Unavailable`], also past [`RECEIPT_KEYS_MAX`].
    pub async fn rotate_receipt_key(&self, at: Timestamp) -> Result<ReceiptKeys, Unavailable> {
        self.receipt_keys(at).await?;
        for _ in 0..CHANGES_MAX {
            let stored = self.stored_receipt_keys().await?.ok_or(CONTENDED)?;
            if stored.keys.list().len() >= RECEIPT_KEYS_MAX {
                return Err(TOO_MANY);
            }
            let rotated = stored.keys.rotated(at)?;
            self.put_receipt_keys(&rotated, Some(stored.revision))
                .await?;
            let now = self.stored_receipt_keys().await?;
            if let Some(now) = now.filter(|now| now.keys == rotated) {
                return Ok(now.keys);
            }
        }
        Err(CONTENDED)
    }

    /// Seals the secrets of the keys by the current master key; done twice, it is done. Where there are no keys, nothing is.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn reseal_receipt_keys(&self) -> Result<(), Unavailable> {
        for _ in 0..CHANGES_MAX {
            let Some(stored) = self.stored_receipt_keys().await? else {
                return Ok(());
            };
            self.put_receipt_keys(&stored.keys, Some(stored.revision))
                .await?;
            let now = self.stored_receipt_keys().await?;
            if now.is_some_and(|now| now.revision > stored.revision && now.keys == stored.keys) {
                return Ok(());
            }
        }
        Err(CONTENDED)
    }

    /// Moves the seed of an earlier version out of the registry's bucket, where gateways could read it. For writers, when they
    /// start; done twice, it is done.
    ///
    /// # Errors
    /// [`Unavailable`]: call again.
    pub async fn restrict_receipt_seed(&self, at: Timestamp) -> Result<(), Unavailable> {
        let Some((_, revision)) = self.legacy_receipt_seed().await? else {
            return Ok(());
        };
        self.receipt_keys(at).await?;
        self.clear_legacy_receipt_seed(revision).await
    }

    async fn put_receipt_keys(
        &self,
        keys: &ReceiptKeys,
        expected: Option<Sequence>,
    ) -> Result<(), Unavailable> {
        // What is stored then decides, not the answer: another process may have been faster.
        let bytes = keys.to_bytes(&self.config().master_keys)?;
        self.put_restricted(ENTRY, bytes, expected).await
    }

    async fn stored_receipt_keys(&self) -> Result<Option<Stored>, Unavailable> {
        let message = self.restricted(ENTRY).await?;
        let master = &self.config().master_keys;
        let stored = message.map(|message| Stored::of(&message, master));
        stored.transpose()
    }
}
