//! Sealing of secrets at rest: AES-256-GCM by a key of the deployment. Pure but for the nonce, which is random.
//!
//! A sealed secret is `form (1) | key id (8) | nonce (12) | ciphertext | tag (16)`. The form, the key id and the name of the
//! entry are associated data: a sealed secret opens in its own entry only.

use std::fmt;

use bytes::Bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::error::Unavailable;

/// Bytes of a master key.
pub const MASTER_KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 8;
const FORM: u8 = 1;
const HEADER_BYTES: usize = 1 + KEY_ID_BYTES;

/// The key by which a deployment seals its secrets. Its `Debug` shows its id.
#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey([u8; MASTER_KEY_BYTES]);

/// What a master key is known by: the beginning of its SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MasterKeyId([u8; KEY_ID_BYTES]);

/// The keys of a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MasterKeys {
    /// Seals and opens; `None`: secrets are kept in clear.
    pub current: Option<MasterKey>,
    /// Opens too, while keys are rotated.
    pub previous: Option<MasterKey>,
}

/// Why a secret cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SealError {
    /// No key is given.
    #[error(
        "is sealed, and no master key is given: set HANSARD_MASTER_KEY or HANSARD_MASTER_KEY_FILE"
    )]
    NoKey,
    /// Another key sealed it.
    #[error("is sealed by the master key {0}, which is not the one given")]
    WrongKey(MasterKeyId),
    /// It was changed, or is another entry's.
    #[error("is sealed and damaged, or belongs to another entry")]
    Damaged,
}

impl From<SealError> for Unavailable {
    fn from(error: SealError) -> Self {
        Self::new(match error {
            SealError::NoKey => {
                "its secrets are sealed, and no master key is given: set HANSARD_MASTER_KEY or HANSARD_MASTER_KEY_FILE"
            }
            SealError::WrongKey(_) => {
                "its secrets are sealed by another master key than the one given"
            }
            SealError::Damaged => "a sealed secret is damaged, or belongs to another entry",
        })
    }
}

impl MasterKey {
    /// A new key.
    #[must_use]
    pub fn generate() -> Self {
        Self(rand::random())
    }

    /// The key of this text: 64 hexadecimal digits, white space around them ignored. `None`: it is no key.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; MASTER_KEY_BYTES];
        hex::decode_to_slice(text.trim(), &mut bytes).ok()?;
        Some(Self(bytes))
    }

    /// The key as text. Never to be logged.
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
        let aad = Aad::from(associated(&header, entry));
        cipher
            .seal_in_place_append_tag(nonce_used, aad, &mut sealed)
            .map_err(|_| SealError::Damaged)?;
        Ok([&header[..], &nonce, &sealed].concat().into())
    }

    fn open(&self, entry: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
        let damaged = SealError::Damaged;
        let (header, rest) = sealed.split_at_checked(HEADER_BYTES).ok_or(damaged)?;
        let (nonce, rest) = rest.split_at_checked(NONCE_LEN).ok_or(damaged)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| damaged)?;
        let aad = Aad::from(associated(header, entry));
        let mut secret = rest.to_vec();
        let opened = self.cipher()?.open_in_place(nonce, aad, &mut secret);
        opened
            .map(|secret| Bytes::copy_from_slice(secret))
            .map_err(|_| damaged)
    }

    fn header(&self) -> Vec<u8> {
        [&[FORM][..], &self.id().0].concat()
    }
}

impl MasterKeys {
    /// Seals a secret of an entry; `None`: there is no key, so the secret is kept in clear.
    ///
    /// # Errors
    /// Only where the cipher does not take the secret.
    pub(crate) fn seal(&self, entry: &str, secret: &[u8]) -> Result<Option<Bytes>, SealError> {
        let key = self.current.as_ref();
        key.map(|key| key.seal(entry, secret)).transpose()
    }

    /// Opens a sealed secret of an entry.
    ///
    /// # Errors
    /// [`SealError`].
    pub(crate) fn open(&self, entry: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
        let id = MasterKeyId::of_sealed(sealed).ok_or(SealError::Damaged)?;
        let mut keys = self.current.iter().chain(&self.previous).peekable();
        if keys.peek().is_none() {
            return Err(SealError::NoKey);
        }
        let key = keys.find(|key| key.id() == id);
        key.ok_or(SealError::WrongKey(id))?.open(entry, sealed)
    }
}

impl MasterKeyId {
    /// The key that sealed a secret; `None`: it is no sealed secret.
    pub(crate) fn of_sealed(sealed: &[u8]) -> Option<Self> {
        let (form, rest) = sealed.split_first()?;
        let id = rest.first_chunk()?;
        (*form == FORM).then_some(Self(*id))
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

fn associated(header: &[u8], entry: &str) -> Vec<u8> {
    [header, entry.as_bytes()].concat()
}

#[cfg(test)]
mod tests;
