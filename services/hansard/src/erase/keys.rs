//! Ed25519 signatures (RFC 8032) of erasure receipts. The keys are in the record's restricted bucket.

use anyhow::anyhow;
use event_log::{RECEIPT_SEED_BYTES, ReceiptKey, ReceiptKeys, Record, receipt_key_id};
use ring::signature::{ED25519, ED25519_PUBLIC_KEY_LEN, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use crate::view::when::now;

/// The key that signs a record's receipts. It cannot be printed.
pub(crate) struct SigningKey {
    id: String,
    pair: Ed25519KeyPair,
}

impl SigningKey {
    /// The record's signing key, created on first use.
    pub(crate) async fn of(record: &Record) -> anyhow::Result<Self> {
        let keys = receipt_keys(record).await?;
        let (_, seed) = keys
            .signing()
            .ok_or_else(|| anyhow!("the record has no active receipt key: run `hansard receipt-key rotate`"))?;
        Self::of_seed(seed)
    }

    pub(super) fn of_seed(seed: &[u8; RECEIPT_SEED_BYTES]) -> anyhow::Result<Self> {
        let pair =
            Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| anyhow!("the seed of the receipt key is invalid"))?;
        let id = receipt_key_id(pair.public_key().as_ref());
        Ok(Self { id, pair })
    }

    /// The key's id, which receipts contain.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// The public key, hexadecimal.
    pub(crate) fn public_key(&self) -> String {
        hex::encode(self.pair.public_key())
    }

    pub(super) fn sign(&self, bytes: &[u8]) -> String {
        hex::encode(self.pair.sign(bytes))
    }
}

/// The receipt keys of a record, created on first use.
pub(crate) async fn receipt_keys(record: &Record) -> anyhow::Result<ReceiptKeys> {
    Ok(record.receipt_keys(now()).await?)
}

/// The public keys of a record, including rotated ones, hexadecimal.
pub(crate) fn public_keys(keys: &ReceiptKeys) -> Vec<String> {
    let public = |key: &ReceiptKey| key.public_key.clone();
    keys.list().iter().map(public).collect()
}

/// Parses a public key, hexadecimal; returns it in lower case.
pub(crate) fn public_key(text: &str) -> Result<String, String> {
    let mut key = [0; ED25519_PUBLIC_KEY_LEN];
    let parsed = hex::decode_to_slice(text, &mut key);
    parsed.map_err(|_| format!("must be {} hexadecimal digits", 2 * ED25519_PUBLIC_KEY_LEN))?;
    Ok(hex::encode(key))
}

/// Whether `id` is the id of this public key, hexadecimal.
pub(super) fn is_id_of(id: &str, public_key: &str) -> bool {
    hex::decode(public_key).is_ok_and(|public_key| receipt_key_id(&public_key) == id)
}

/// Whether `signature` is the signature of `bytes` by this key; both hexadecimal.
pub(super) fn verify_signature(public_key: &str, bytes: &[u8], signature: &str) -> bool {
    let (Ok(public_key), Ok(signature)) = (hex::decode(public_key), hex::decode(signature)) else {
        return false;
    };
    let key = UnparsedPublicKey::new(&ED25519, public_key);
    key.verify(bytes, &signature).is_ok()
}
