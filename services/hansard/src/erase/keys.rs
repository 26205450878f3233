//! Signatures of receipts: Ed25519 (RFC 8032), by a key whose seed lives in the record's registry.

use anyhow::anyhow;
use event_log::{RECEIPT_SEED_BYTES, Record};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// The key of a record's receipts. Its `Debug` hides it.
pub struct ReceiptKey(Ed25519KeyPair);

impl std::fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ReceiptKey(..)")
    }
}

impl ReceiptKey {
    /// The record's key, made when it is first asked for.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn of(record: &Record) -> anyhow::Result<Self> {
        let seed = record.receipt_seed().await?;
        Self::of_seed(seed)
    }

    /// The record's key, where it has been made.
    ///
    /// # Errors
    /// The record does not answer.
    pub async fn made(record: &Record) -> anyhow::Result<Option<Self>> {
        let seed = record.receipt_seed_made().await?;
        seed.map(Self::of_seed).transpose()
    }

    pub(super) fn of_seed(seed: [u8; RECEIPT_SEED_BYTES]) -> anyhow::Result<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed)
            .map_err(|_| anyhow!("the receipts' key is none"))?;
        Ok(Self(pair))
    }

    /// By what signatures are checked, in hexadecimal digits.
    #[must_use]
    pub fn public_key(&self) -> String {
        hex::encode(self.0.public_key())
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> String {
        hex::encode(self.0.sign(bytes))
    }
}

/// Whether a signature is of these bytes by this key; both in hexadecimal digits.
pub(super) fn is_signed(public_key: &str, bytes: &[u8], signature: &str) -> bool {
    let (Ok(public_key), Ok(signature)) = (hex::decode(public_key), hex::decode(signature)) else {
        return false;
    };
    UnparsedPublicKey::new(&ED25519, public_key)
        .verify(bytes, &signature)
        .is_ok()
}
