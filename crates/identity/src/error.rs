//! What can be wrong with a token or a key. What stands in them is never told.

use thiserror::Error;

use crate::bounds::{HS256_SECRET_BYTES, JWKS_BYTES_MAX, JWKS_KEYS_MAX, TOKEN_BYTES_MAX};

/// Why a token names nobody, by what its maker can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It is too long: put less into it.
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    /// It is no JWT, or none that is signed in a way that is taken.
    #[error("the token is no JWT that is signed by HS256, RS256, ES256 or EdDSA")]
    Malformed,
    /// No valid key is meant by its `kid`, or none is for its algorithm: sign with a key that was added and not retired.
    #[error("the token is signed by no valid key of the tenant's")]
    UnknownKey,
    /// The key is there, and the signature is not its own.
    #[error("the token's signature is wrong")]
    BadSignature,
    /// A claim is missing, or has another form than it must have.
    #[error("the token's claim {claim} is missing or malformed")]
    Claim {
        /// The claim's name.
        claim: &'static str,
    },
    /// It has ended: ask for a new one.
    #[error("the token has expired")]
    Expired,
    /// It is valid later, or was made by a clock that runs ahead.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// It is meant for somebody else.
    #[error("the token's audience is another")]
    WrongAudience,
    /// It was made by somebody else.
    #[error("the token's issuer is another")]
    WrongIssuer,
    /// It holds for longer than the tenant allows: make it for a shorter time.
    #[error("the token holds for longer than the tenant allows")]
    TooLongLived,
    /// It was revoked: ask for a new one.
    #[error("the token was revoked")]
    Revoked,
    /// It is another tenant's.
    #[error("the token is another tenant's")]
    WrongTenant,
    /// It is for another agent.
    #[error("the token is for another agent")]
    WrongAgent,
    /// It is no administrator's.
    #[error("the token is no administrator's")]
    NotAdmin,
}

/// Why a key cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum KeyError {
    /// The secret is too short to be safe, or too long.
    #[error(
        "is not {} to {} bytes long", HS256_SECRET_BYTES.start(), HS256_SECRET_BYTES.end()
    )]
    SecretLength,
    /// The text is no JWK set.
    #[error("is no JWK set: give JSON text of an object with `keys`")]
    NotASet,
    /// The set is too long.
    #[error("is longer than {JWKS_BYTES_MAX} bytes")]
    TooLong,
    /// The set has too many keys.
    #[error("has more than {JWKS_KEYS_MAX} keys")]
    TooMany,
    /// The set has no key for signatures by RS256, ES256 or `EdDSA`.
    #[error("has no public key for RS256 (of 2048 to 8192 bits), ES256 or EdDSA")]
    NoneUsable,
}
