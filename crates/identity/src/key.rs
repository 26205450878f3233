//! Keys that verify tokens. Each has one algorithm, so that it is never used as a key of another kind.

use std::fmt;
use std::sync::Arc;

use domain::SigningKeyId;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use serde::Deserialize;
use serde_json::Value;

use crate::{HS256_SECRET_BYTES, JWKS_BYTES_MAX, JWKS_KEYS_MAX, KeyError, RSA_MODULUS_BYTES};

/// Bytes of a P-256 point: the prefix and two coordinates.
const P256_POINT_BYTES: usize = 65;
/// Bytes of an Ed25519 public key.
const ED25519_BYTES: usize = 32;

/// A key that verifies tokens. Clones share it; `Debug` hides it.
#[derive(Clone)]
pub struct Key(Arc<Parts>);

struct Parts {
    signing_key: SigningKeyId,
    kid: String,
    algorithm: Algorithm,
    decoding: DecodingKey,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// A key from an HS256 secret.
    ///
    /// # Errors
    /// [`KeyError::SecretLength`].
    pub fn hs256(id: &SigningKeyId, secret: &[u8]) -> Result<Self, KeyError> {
        if !HS256_SECRET_BYTES.contains(&secret.len()) {
            return Err(KeyError::SecretLength);
        }
        let decoding = DecodingKey::from_secret(secret);
        Ok(Self::new(id, id.as_str(), Algorithm::HS256, decoding))
    }

    fn new(id: &SigningKeyId, kid: &str, algorithm: Algorithm, decoding: DecodingKey) -> Self {
        Self(Arc::new(Parts { signing_key: id.clone(), kid: kid.to_owned(), algorithm, decoding }))
    }

    /// The signing key that it is of: itself, or the one with its JWK set.
    pub(crate) fn signing_key(&self) -> &SigningKeyId {
        &self.0.signing_key
    }

    pub(crate) fn has_id(&self, kid: &str) -> bool {
        self.0.kid == kid
    }

    pub(crate) fn algorithm(&self) -> Algorithm {
        self.0.algorithm
    }

    pub(crate) fn decoding(&self) -> &DecodingKey {
        &self.0.decoding
    }
}

/// A JWK set. Each key is parsed separately, so that unknown kinds are skipped.
#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Value>,
}

/// The usable keys of a JWK set, in order: public keys for RS256, ES256 or `EdDSA` signatures. The type of the key determines
/// the algorithm. Secrets, encryption keys and keys for other algorithms are skipped. A key without a `kid` gets `id`.
///
/// # Errors
/// The text is not a JWK set, exceeds [`JWKS_BYTES_MAX`] or [`JWKS_KEYS_MAX`], or contains no usable key.
pub fn jwk_set(id: &SigningKeyId, json: &str) -> Result<Vec<Key>, KeyError> {
    if json.len() > JWKS_BYTES_MAX {
        return Err(KeyError::TooLong);
    }
    let set: JwkSet = serde_json::from_str(json).map_err(|_| KeyError::NotASet)?;
    if set.keys.len() > JWKS_KEYS_MAX {
        return Err(KeyError::TooMany);
    }
    let keys: Vec<Key> = set.keys.into_iter().filter_map(|key| usable(id, key)).collect();
    if keys.is_empty() {
        return Err(KeyError::NoneUsable);
    }
    Ok(keys)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only accepted kinds of keys are listed; the enum may grow")]
fn usable(id: &SigningKeyId, key: Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(key).ok()?;
    let (algorithm, named) = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => (Algorithm::RS256, KeyAlgorithm::RS256),
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            (Algorithm::ES256, KeyAlgorithm::ES256)
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            (Algorithm::EdDSA, KeyAlgorithm::EdDSA)
        }
        _ => return None,
    };
    let common = &jwk.common;
    let has_algorithm = common.key_algorithm.is_none_or(|key| key == named);
    let usage = common.public_key_use.as_ref();
    let signs = usage.is_none_or(|usage| *usage == PublicKeyUse::Signature);
    let decoding = DecodingKey::from_jwk(&jwk).ok()?;
    if !has_algorithm || !signs || !has_valid_size(algorithm, &decoding) {
        return None;
    }
    let kid = common.key_id.as_deref().unwrap_or(id.as_str());
    Some(Key::new(id, kid, algorithm, decoding))
}

fn has_valid_size(algorithm: Algorithm, key: &DecodingKey) -> bool {
    match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, .. } => {
            algorithm == Algorithm::RS256 && RSA_MODULUS_BYTES.contains(&n.len())
        }
        DecodingKeyKind::SecretOrDer(bytes) if algorithm == Algorithm::ES256 => bytes.len() == P256_POINT_BYTES,
        DecodingKeyKind::SecretOrDer(bytes) => bytes.len() == ED25519_BYTES,
    }
}
