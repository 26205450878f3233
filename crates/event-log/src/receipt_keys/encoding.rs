//! The contents and the encoding of the entry of receipt keys.

use std::fmt;

use bytes::Bytes;
use domain::Timestamp;
use prost::Message as _;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use sha2::{Digest as _, Sha256};
use wire::proto::operate::v1 as proto;
use wire::time;

use super::{ENTRY, RECEIPT_SEED_BYTES};
use crate::error::Unavailable;
use crate::seal::MasterKeys;

/// Bytes of the SHA-256 of a public key in its id.
const ID_BYTES: usize = 8;
/// The label of a derivation. It never changes.
const ENDORSEMENT_LABEL: &[u8] = b"hansard/dashboard/endorsement";
const UNREADABLE: Unavailable = Unavailable::new("the receipt keys cannot be decoded");

type Seed = [u8; RECEIPT_SEED_BYTES];

/// A key that signs receipts. Its `Debug` hides the seed.
#[derive(Clone, PartialEq, Eq)]
pub struct ReceiptKey {
    /// Its id: 16 hexadecimal digits of the SHA-256 of its public half.
    pub id: String,
    /// The public half, in hexadecimal digits.
    pub public_key: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When another key replaced it; `None`: it is the signing key.
    pub rotated_at: Option<Timestamp>,
    seed: Option<Seed>,
}

/// The receipt keys of a record; the signing key is the last one. Its `Debug` hides secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct ReceiptKeys {
    mark_secret: Seed,
    keys: Vec<ReceiptKey>,
}

/// The id of a receipt key: 16 hexadecimal digits of the SHA-256 of its public half.
#[must_use]
pub fn receipt_key_id(public_key: &[u8]) -> String {
    let digest = Sha256::digest(public_key);
    hex::encode(digest.get(..ID_BYTES).unwrap_or_default())
}

impl ReceiptKey {
    fn from_seed(seed: Seed, created_at: Timestamp) -> Result<Self, Unavailable> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| UNREADABLE)?;
        let public_key = pair.public_key().as_ref();
        Ok(Self {
            id: receipt_key_id(public_key),
            public_key: hex::encode(public_key),
            created_at,
            rotated_at: None,
            seed: Some(seed),
        })
    }

    fn from_proto(key: proto::ReceiptKey, master: &MasterKeys) -> Result<Self, Unavailable> {
        let at = |at| time::from_proto(at).map_err(|_| UNREADABLE);
        let has_seed = !(key.seed.is_empty() && key.sealed_seed.is_empty());
        let name = seed_name(&key.receipt_key_id);
        let seed = has_seed.then(|| opened(master, &name, &key.seed, &key.sealed_seed));
        Ok(Self {
            id: key.receipt_key_id,
            public_key: hex::encode(key.public_key),
            created_at: at(key.created_at.ok_or(UNREADABLE)?)?,
            rotated_at: key.rotated_at.map(at).transpose()?,
            seed: seed.transpose()?,
        })
    }

    fn to_proto(&self, master: &MasterKeys) -> Result<proto::ReceiptKey, Unavailable> {
        let kept = self.seed.as_ref().map(|seed| master.to_stored(&seed_name(&self.id), seed));
        let (seed, sealed_seed) = kept.transpose()?.unwrap_or_default();
        Ok(proto::ReceiptKey {
            receipt_key_id: self.id.clone(),
            public_key: hex::decode(&self.public_key).unwrap_or_default().into(),
            seed,
            created_at: Some(time::to_proto(self.created_at)),
            rotated_at: self.rotated_at.map(time::to_proto),
            sealed_seed,
        })
    }
}

impl ReceiptKeys {
    pub(super) fn generate(at: Timestamp) -> Result<Self, Unavailable> {
        Ok(Self { mark_secret: rand::random(), keys: vec![ReceiptKey::from_seed(rand::random(), at)?] })
    }

    /// Converts the single seed of earlier versions.
    pub(super) fn from_legacy(seed: Seed, at: Timestamp) -> Result<Self, Unavailable> {
        Ok(Self { mark_secret: seed, keys: vec![ReceiptKey::from_seed(seed, at)?] })
    }

    pub(super) fn rotated(&self, at: Timestamp) -> Result<Self, Unavailable> {
        let rotated = self.keys.iter().map(|key| ReceiptKey {
            seed: None,
            rotated_at: key.rotated_at.or(Some(at)),
            ..key.clone()
        });
        let new = ReceiptKey::from_seed(rand::random(), at)?;
        Ok(Self { mark_secret: self.mark_secret, keys: rotated.chain([new]).collect() })
    }

    pub(super) fn from_bytes(bytes: &[u8], master: &MasterKeys) -> Result<Self, Unavailable> {
        let read = proto::ReceiptKeys::decode(bytes).map_err(|_| UNREADABLE)?;
        let keys = read.keys.into_iter().map(|key| ReceiptKey::from_proto(key, master));
        Ok(Self {
            mark_secret: opened(master, ENTRY, &read.mark_secret, &read.sealed_mark_secret)?,
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn to_bytes(&self, master: &MasterKeys) -> Result<Bytes, Unavailable> {
        let keys = self.keys.iter().map(|key| key.to_proto(master));
        let (mark_secret, sealed_mark_secret) = master.to_stored(ENTRY, &self.mark_secret)?;
        let entry = proto::ReceiptKeys { mark_secret, keys: keys.collect::<Result<_, _>>()?, sealed_mark_secret };
        Ok(entry.encode_to_vec().into())
    }

    /// All keys, the oldest first.
    #[must_use]
    pub fn list(&self) -> &[ReceiptKey] {
        &self.keys
    }

    /// The signing key and its seed.
    #[must_use]
    pub fn signing(&self) -> Option<(&ReceiptKey, &[u8; RECEIPT_SEED_BYTES])> {
        let key = self.keys.last()?;
        Some((key, key.seed.as_ref()?))
    }

    /// The secret with which writers endorse people of the dashboard, derived from the secret that marks tombstones (HMAC-SHA256).
    #[must_use]
    pub fn endorsement_secret(&self) -> [u8; RECEIPT_SEED_BYTES] {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.mark_secret);
        let mut secret = [0; RECEIPT_SEED_BYTES];
        secret.copy_from_slice(hmac::sign(&key, ENDORSEMENT_LABEL).as_ref());
        secret
    }

    /// The secret that marks tombstones. It never changes.
    #[must_use]
    pub fn mark_secret(&self) -> &[u8; RECEIPT_SEED_BYTES] {
        &self.mark_secret
    }
}

impl fmt::Debug for ReceiptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ReceiptKey");
        shown.field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for ReceiptKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.keys).finish()
    }
}

/// The associated data of an encrypted seed: entry and key, so that seeds cannot be swapped within the entry.
fn seed_name(id: &str) -> String {
    format!("{ENTRY}/{id}")
}

fn opened(master: &MasterKeys, name: &str, clear: &Bytes, sealed: &Bytes) -> Result<Seed, Unavailable> {
    let seed = master.open_stored(name, clear, sealed)?;
    seed.as_ref().try_into().map_err(|_| UNREADABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_endorsement_secret_survives_rotations() {
        let first = ReceiptKeys::from_legacy([7; RECEIPT_SEED_BYTES], Timestamp(1)).unwrap();
        let secret = first.endorsement_secret();
        assert_eq!(first.rotated(Timestamp(2)).unwrap().endorsement_secret(), secret);
        assert_ne!(&secret, first.mark_secret());
        let other = ReceiptKeys::generate(Timestamp(1)).unwrap();
        assert_ne!(other.endorsement_secret(), secret);
    }

    #[test]
    fn encoding_round_trip() {
        let first = ReceiptKeys::generate(Timestamp(1)).unwrap();
        let second = first.rotated(Timestamp(2)).unwrap();
        let sealing = MasterKeys { current: Some(crate::seal::MasterKey::generate()), ..MasterKeys::default() };
        for master in [MasterKeys::default(), sealing] {
            for keys in [&first, &second] {
                let bytes = keys.to_bytes(&master).unwrap();
                assert_eq!(ReceiptKeys::from_bytes(&bytes, &master).as_ref(), Ok(keys));
                let (_, seed) = keys.signing().unwrap();
                let in_clear = bytes.windows(seed.len()).any(|part| part == seed);
                assert_eq!(in_clear, master.current.is_none());
                let without = ReceiptKeys::from_bytes(&bytes, &MasterKeys::default());
                assert_eq!(without.is_ok(), master.current.is_none());
            }
            assert!(ReceiptKeys::from_bytes(b"", &master).is_err());
            assert!(ReceiptKeys::from_bytes(b"\xff", &master).is_err());
        }
    }

    #[test]
    fn rotated_keys_keep_only_their_public_half() {
        let first = ReceiptKeys::from_legacy([7; RECEIPT_SEED_BYTES], Timestamp(1)).unwrap();
        let second = first.rotated(Timestamp(2)).unwrap();
        let third = second.rotated(Timestamp(3)).unwrap();
        assert_eq!(third.mark_secret(), first.mark_secret());
        let ends: Vec<_> = third.list().iter().map(|key| key.rotated_at).collect();
        assert_eq!(ends, [Some(Timestamp(2)), Some(Timestamp(3)), None]);
        let seeds = third.list().iter().filter(|key| key.seed.is_some());
        assert_eq!(seeds.count(), 1);
        assert_eq!(third.list()[0].public_key, first.list()[0].public_key);
        assert_ne!(third.signing(), second.signing());
        assert!(!format!("{third:?}").contains("seed"));
    }
}
