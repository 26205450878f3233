//! Secrets of keys and tokens: returned once, stored as their SHA-256.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

pub(crate) const API_KEY_PREFIX: &str = "hp_";
pub(crate) const SERVICE_TOKEN_PREFIX: &str = "hsk_";
/// The prefix of service tokens of earlier versions, which stay valid. Programs of these versions reject tokens with the new
/// prefix, so they never take a token that is bound to agents for one without agents.
const EARLIER_SERVICE_TOKEN_PREFIX: &str = "hs_";
pub(crate) const SIGNING_SECRET_PREFIX: &str = "hk_";
/// Random bytes of a secret: 256 bits.
const SECRET_BYTES: usize = 32;
/// Bytes of the digest in an id: 16 hexadecimal digits.
const ID_BYTES: usize = 8;

/// SHA-256 of a secret, or of a policy.
pub type Digest = [u8; 32];

/// A key or token in plaintext. Its `Debug` hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub(crate) String);

impl Secret {
    pub(crate) fn generate(prefix: &str) -> Self {
        let bytes: [u8; SECRET_BYTES] = rand::random();
        Self(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The plaintext, for the caller that created it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Whether a bearer token has the form of a service token.
pub(crate) fn is_service_token(bearer: &str) -> bool {
    bearer.starts_with(SERVICE_TOKEN_PREFIX) || bearer.starts_with(EARLIER_SERVICE_TOKEN_PREFIX)
}

/// The stored digest of a secret.
pub(crate) fn digest(secret: &str) -> Digest {
    Sha256::digest(secret).into()
}

/// The public id of a secret.
pub(crate) fn id_of(digest: &Digest) -> String {
    hex::encode(digest.get(..ID_BYTES).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_distinct_and_hidden() {
        let secret = Secret::generate(SERVICE_TOKEN_PREFIX);
        assert_eq!(secret.reveal().len(), 4 + 43);
        assert_ne!(secret, Secret::generate(SERVICE_TOKEN_PREFIX));
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        let id = id_of(&digest("hs_example"));
        assert_eq!(id.len(), 16);
        assert!(hex::encode(digest("hs_example")).starts_with(&id));
    }
}
