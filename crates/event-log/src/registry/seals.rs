//! Which entries hold a secret, and by which key each is sealed.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::seal::{MasterKeyId, MasterKeys, SealError};

/// How the secret of an entry is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seal {
    /// In clear.
    Clear,
    /// Sealed by this key, and opened.
    Sealed(MasterKeyId),
    /// Sealed, and not opened.
    Unopened(SealError),
}

/// The keys of this process, and how each secret is kept, by its entry.
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

    /// The secret of an entry, which is kept in clear or sealed; `None`: it cannot be opened, which is logged.
    pub(super) fn open(&mut self, entry: &str, clear: &Bytes, sealed: &Bytes) -> Option<Bytes> {
        if sealed.is_empty() {
            self.seals.insert(entry.to_owned(), Seal::Clear);
            return Some(clear.clone());
        }
        match self.keys.open(entry, sealed) {
            Ok(secret) => {
                let id = MasterKeyId::of_sealed(sealed)?;
                self.seals.insert(entry.to_owned(), Seal::Sealed(id));
                Some(secret)
            }
            Err(error) => {
                tracing::error!(entry, "a secret of the registry {error}");
                self.seals.insert(entry.to_owned(), Seal::Unopened(error));
                None
            }
        }
    }

    pub(super) fn forget(&mut self, entry: &str) {
        self.seals.remove(entry);
    }

    /// Why the first secret that cannot be opened cannot be.
    pub(super) fn failure(&self) -> Option<SealError> {
        self.seals.values().find_map(|seal| match seal {
            Seal::Unopened(error) => Some(*error),
            Seal::Clear | Seal::Sealed(_) => None,
        })
    }

    /// How many secrets are kept in clear.
    pub(super) fn in_clear(&self) -> usize {
        let seals = self.seals.values();
        seals.filter(|seal| **seal == Seal::Clear).count()
    }

    /// The entries whose secrets the current key has not sealed.
    pub(super) fn stale(&self) -> Vec<String> {
        let current = self.keys.current.as_ref().map(crate::seal::MasterKey::id);
        let is_stale = |seal: &Seal| current.map(Seal::Sealed) != Some(*seal);
        let stale = self.seals.iter().filter(|(_, seal)| is_stale(seal));
        stale.map(|(entry, _)| entry.clone()).collect()
    }
}
