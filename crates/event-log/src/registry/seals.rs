//! The encryption state of the entries with a secret.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::seal::{MasterKeyId, MasterKeys, SealError};

/// The encryption state of an entry's secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seal {
    /// Plaintext.
    Plaintext,
    /// Encrypted with this key, and decrypted.
    Sealed(MasterKeyId),
    /// Encrypted, and not decrypted.
    Undecrypted(SealError),
}

/// The keys of this process and the state of each secret, by entry.
#[derive(Debug, Default)]
pub(super) struct Seals {
    pub(super) keys: MasterKeys,
    seals: BTreeMap<String, Seal>,
}

impl Seals {
    pub(super) fn new(keys: MasterKeys) -> Self {
        Self {
            keys,
            seals: BTreeMap::new(),
        }
    }

    /// The secret of an entry in plaintext; `None`: it cannot be decrypted, which is logged.
    pub(super) fn open(&mut self, entry: &str, clear: &Bytes, sealed: &Bytes) -> Option<Bytes> {
        if sealed.is_empty() {
            self.seals.insert(entry.to_owned(), Seal::Plaintext);
            return Some(clear.clone());
        }
        match self.keys.open(entry, sealed) {
            Ok(secret) => {
                let id = MasterKeyId::from_sealed(sealed)?;
                self.seals.insert(entry.to_owned(), Seal::Sealed(id));
                Some(secret)
            }
            Err(error) => {
                tracing::error!(entry, %error, "a secret of the registry cannot be decrypted");
                self.seals
                    .insert(entry.to_owned(), Seal::Undecrypted(error));
                None
            }
        }
    }

    pub(super) fn forget(&mut self, entry: &str) {
        self.seals.remove(entry);
    }

    /// The error of the first secret that cannot be decrypted.
    pub(super) fn failure(&self) -> Option<SealError> {
        self.seals.values().find_map(|seal| match seal {
            Seal::Undecrypted(error) => Some(*error),
            Seal::Plaintext | Seal::Sealed(_) => None,
        })
    }

    /// The number of secrets in plaintext.
    pub(super) fn plaintext_count(&self) -> usize {
        let seals = self.seals.values();
        seals.filter(|seal| **seal == Seal::Plaintext).count()
    }

    /// The entries whose secrets are not encrypted with the current key.
    pub(super) fn stale(&self) -> Vec<String> {
        let current = self.keys.current.as_ref().map(crate::seal::MasterKey::id);
        let is_stale = |seal: &Seal| current.map(Seal::Sealed) != Some(*seal);
        let stale = self.seals.iter().filter(|(_, seal)| is_stale(seal));
        stale.map(|(entry, _)| entry.clone()).collect()
    }
}
