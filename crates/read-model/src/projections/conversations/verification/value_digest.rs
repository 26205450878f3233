//! Digests of values and rows.

use sha2::{Digest as _, Sha256};

/// SHA-256.
pub(super) type ValueDigest = [u8; 32];

/// The digest of a value.
pub(super) fn value_digest(value: &[u8]) -> ValueDigest {
    Sha256::digest(value).into()
}
