//! The crypto backend of `jsonwebtoken`: ring, which TLS uses already.
//!
//! It only verifies signatures and cannot sign tokens.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::hmac;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};

static BACKEND: CryptoProvider =
    CryptoProvider { signer_factory: no_signer, verifier_factory: verifier, key_utils: KeyUtils::new_unimplemented() };
static INSTALL: Once = Once::new();

/// Installs ring as the backend of this process, once.
pub(crate) fn install() {
    // A backend that was installed before verifies the same signatures.
    INSTALL.call_once(|| {
        let _ = BACKEND.install_default();
    });
}

struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKeyKind,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of the crate's factories")]
fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of the crate's factories")]
fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, key: key.kind().clone() }))
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let outcome = match (self.algorithm, &self.key) {
            (Algorithm::HS256, DecodingKeyKind::SecretOrDer(secret)) => {
                hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, secret), message, signature)
            }
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature)
            }
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature)
            }
            (Algorithm::EdDSA, DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(&ED25519, point).verify(message, signature)
            }
            _ => return Err(Error::new()),
        };
        outcome.map_err(|_| Error::new())
    }
}
