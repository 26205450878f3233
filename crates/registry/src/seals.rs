//! Entries with secrets, and the encryption state of each.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;
use wire::proto::operate::v1::signing_key::Kind;
use wire::proto::operate::v1::{SigningKey, TenantSecret, WebhookSecrets};

use event_log::seal::{MasterKeyId, MasterKeys, SealError};

/// An entry with secrets, each in plaintext or encrypted; the other field is empty.
pub(crate) trait SecretEntry: Message + Default {
    /// The fields of each secret: plaintext, encrypted.
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)>;
}

impl SecretEntry for TenantSecret {
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)> {
        vec![(&mut self.root, &mut self.sealed_root)]
    }
}

impl SecretEntry for SigningKey {
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)> {
        match &mut self.kind {
            Some(Kind::Hs256Secret(secret)) => vec![(secret, &mut self.sealed_secret)],
            Some(Kind::JwksJson(_) | Kind::JwksUrl(_)) | None => Vec::new(),
        }
    }
}

impl SecretEntry for WebhookSecrets {
    fn secrets(&mut self) -> Vec<(&mut Bytes, &mut Bytes)> {
        let secrets = self.secrets.iter_mut();
        secrets.map(|secret| (&mut secret.key, &mut secret.sealed_key)).collect()
    }
}

/// The encryption state of an entry's secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seal {
    Plaintext,
    /// Encrypted with this key, and decrypted.
    Sealed(MasterKeyId),
    /// Encrypted, and not decrypted.
    Undecrypted(SealError),
}

/// The keys of this process and the state of each secret, by entry.
#[derive(Debug, Default)]
pub(crate) struct Seals {
    pub(crate) keys: MasterKeys,
    seals: BTreeMap<String, Seal>,
}

impl Seals {
    pub(crate) fn new(keys: MasterKeys) -> Self {
        let seals = BTreeMap::new();
        Self { keys, seals }
    }

    /// Decrypts the secrets of an entry; `false`: one cannot be decrypted, which is logged.
    pub(crate) fn open(&mut self, key: &str, entry: &mut impl SecretEntry) -> bool {
        for (clear, sealed) in entry.secrets() {
            let seal = match self.keys.open_stored(key, clear, sealed) {
                Ok(secret) => {
                    *clear = secret;
                    let id = MasterKeyId::from_sealed(&std::mem::take(sealed));
                    id.map_or(Seal::Plaintext, Seal::Sealed)
                }
                Err(error) => {
                    tracing::error!(entry = key, %error, "a secret of the registry cannot be decrypted");
                    Seal::Undecrypted(error)
                }
            };
            self.seals.insert(key.to_owned(), seal);
            if matches!(seal, Seal::Undecrypted(_)) {
                return false;
            }
        }
        true
    }

    pub(crate) fn forget(&mut self, entry: &str) {
        self.seals.remove(entry);
    }

    /// The error of the first secret that cannot be decrypted.
    pub(crate) fn failure(&self) -> Option<SealError> {
        self.seals.values().find_map(|seal| match seal {
            Seal::Undecrypted(error) => Some(*error),
            Seal::Plaintext | Seal::Sealed(_) => None,
        })
    }

    pub(crate) fn plaintext_count(&self) -> usize {
        let seals = self.seals.values();
        seals.filter(|seal| **seal == Seal::Plaintext).count()
    }

    /// The entries whose secrets are not encrypted with the current key.
    pub(crate) fn stale(&self) -> Vec<String> {
        let current = self.keys.current.as_ref().map(event_log::seal::MasterKey::id);
        let is_stale = |seal: &Seal| current.map(Seal::Sealed) != Some(*seal);
        let stale = self.seals.iter().filter(|(_, seal)| is_stale(seal));
        stale.map(|(entry, _)| entry.clone()).collect()
    }
}
