//! Encryption of secrets at rest: AES-256-GCM with the deployment's master key. Pure except for the random nonce.
//!
//! An encrypted secret is `version (1) | key id (8) | nonce (12) | ciphertext | tag (16)`. The version, the key id and the
//! entry's name are associated data: a secret decrypts in its own entry only.

use std::fmt;

use bytes::Bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::error::Unavailable;

/// Bytes of a master key.
pub const MASTER_KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 8;
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES;

/// The key that encrypts a deployment's secrets. Its `Debug` shows its id only.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey([u8; MASTER_KEY_BYTES]);

/// The id of a master key: the first bytes of its SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MasterKeyId([u8; KEY_ID_BYTES]);

/// The master keys of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MasterKeys {
    /// Encrypts and decrypts; `None`: secrets are stored in plaintext.
    pub current: Option<MasterKey>,
    /// Only decrypts, during a rotation.
    pub previous: Option<MasterKey>,
    /// Encrypts and decrypts the registry's secrets in place of `current`; `None`: there is no such key. Gateways need only this one, and
    /// then open no other secret, also not one in a backup.
    pub registry: Option<MasterKey>,
}

/// Why a secret cannot be decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SealError {
    /// The process has no master key.
    #[error("is encrypted, but no master key is configured: set HANSARD_MASTER_KEY or HANSARD_MASTER_KEY_FILE")]
    NoKey,
    /// Another key encrypted it.
    #[error("is encrypted with the master key {0}, which is not configured")]
    WrongKey(MasterKeyId),
    /// It was changed, or belongs to another entry.
    #[error("is encrypted and damaged, or belongs to another entry")]
    Damaged,
}

impl From<SealError> for Unavailable {
    fn from(error: SealError) -> Self {
        Self::new(match error {
            SealError::NoKey => {
                "its secrets are encrypted, but no master key is configured: set HANSARD_MASTER_KEY or HANSARD_MASTER_KEY_FILE"
            }
            SealError::WrongKey(_) => "its secrets are encrypted with a master key that is not configured",
            SealError::Damaged => "an encrypted secret is damaged, or belongs to another entry",
        })
    }
}

impl MasterKey {
    /// A new key.
    #[must_use]
    pub fn generate() -> Self {
        Self(rand::random())
    }

    /// Parses 64 hexadecimal digits, with optional white space around them; `None`: not a key.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; MASTER_KEY_BYTES];
        hex::decode_to_slice(text.trim(), &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// The key as text. Never log it.
    #[must_use]
    pub fn reveal(&self) -> String {
        hex::encode(self.0)
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> MasterKeyId {
        let digest = Sha256::digest(self.0);
        let mut id = [0; KEY_ID_BYTES];
        id.iter_mut().zip(digest).for_each(|(to, from)| *to = from);
        MasterKeyId(id)
    }

    fn cipher(&self) -> Result<LessSafeKey, SealError> {
        let key = UnboundKey::new(&AES_256_GCM, &self.0);
        key.map(LessSafeKey::new).map_err(|_| SealError::Damaged)
    }

    fn seal(&self, entry: &str, secret: &[u8]) -> Result<Bytes, SealError> {
        let header = self.header();
        let nonce: [u8; NONCE_LEN] = rand::random();
        let mut sealed = secret.to_vec();
        let cipher = self.cipher()?;
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        let aad = Aad::from(associated_data(&header, entry));
        cipher.seal_in_place_append_tag(nonce_used, aad, &mut sealed).map_err(|_| SealError::Damaged)?;
        Ok([&header[..], &nonce, &sealed].concat().into())
    }

    fn open(&self, entry: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
        let damaged = SealError::Damaged;
        let (header, rest) = sealed.split_at_checked(HEADER_BYTES).ok_or(damaged)?;
        let (nonce, rest) = rest.split_at_checked(NONCE_LEN).ok_or(damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| damaged)?;
        let aad = Aad::from(associated_data(header, entry));
        let mut secret = rest.to_vec();
        let opened = self.cipher()?.open_in_place(nonce, aad, &mut secret);
        opened.map(|secret| Bytes::copy_from_slice(secret)).map_err(|_| damaged)
    }

    fn header(&self) -> Vec<u8> {
        [&[VERSION][..], &self.id().0].concat()
    }
}

impl MasterKeys {
    /// The keys of the registry's secrets. The other keys still decrypt those that were encrypted before.
    pub(crate) fn for_registry(&self) -> Self {
        match &self.registry {
            Some(key) => {
                Self { current: Some(key.clone()), previous: self.previous.clone(), registry: self.current.clone() }
            }
            None => self.clone(),
        }
    }

    /// Encrypts a secret of an entry; `None`: without a key, the secret is stored in plaintext.
    /// Errors: [`SealError::Damaged`] if the cipher fails.
    pub(crate) fn seal(&self, entry: &str, secret: &[u8]) -> Result<Option<Bytes>, SealError> {
        let key = self.current.as_ref();
        key.map(|key| key.seal(entry, secret)).transpose()
    }

    /// A secret of an entry as it is stored: plaintext, encrypted; one of them is empty.
    ///
    /// # Errors
    /// [`SealError::Damaged`] if the cipher fails.
    pub fn to_stored(&self, entry: &str, secret: &[u8]) -> Result<(Bytes, Bytes), SealError> {
        Ok(match self.seal(entry, secret)? {
            Some(sealed) => (Bytes::new(), sealed),
            None => (Bytes::copy_from_slice(secret), Bytes::new()),
        })
    }

    /// A stored secret of an entry in plaintext; the reverse of [`MasterKeys::to_stored`].
    ///
    /// # Errors
    /// [`SealError`]: no key decrypts it.
    pub fn open_stored(&self, entry: &str, clear: &Bytes, sealed: &Bytes) -> Result<Bytes, SealError> {
        if sealed.is_empty() {
            return Ok(clear.clone());
        }
        self.open(entry, sealed)
    }

    /// Decrypts a secret of an entry.
    pub(crate) fn open(&self, entry: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
        let id = MasterKeyId::from_sealed(sealed).ok_or(SealError::Damaged)?;
        let mut keys = self.current.iter().chain(&self.previous).chain(&self.registry).peekable();
        if keys.peek().is_none() {
            return Err(SealError::NoKey);
        }
        let key = keys.find(|key| key.id() == id);
        key.ok_or(SealError::WrongKey(id))?.open(entry, sealed)
    }
}

impl MasterKeyId {
    /// The id of the key that encrypted a secret; `None`: not an encrypted secret.
    #[must_use]
    pub fn from_sealed(sealed: &[u8]) -> Option<Self> {
        let (version, rest) = sealed.split_first()?;
        let id = rest.first_chunk()?;
        (*version == VERSION).then_some(Self(*id))
    }
}

impl fmt::Display for MasterKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MasterKey({})", self.id())
    }
}

fn associated_data(header: &[u8], entry: &str) -> Vec<u8> {
    [header, entry.as_bytes()].concat()
}

#[cfg(test)]
mod tests;
