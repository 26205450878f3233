//! Errors of tokens and keys. They never contain their content.

use thiserror::Error;

use crate::{HS256_SECRET_BYTES, JWKS_BYTES_MAX, JWKS_KEYS_MAX, TOKEN_BYTES_MAX};

/// Why a token is invalid, by what its issuer can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum TokenError {
    /// It is too long: use fewer claims.
    #[error("the token is longer than {TOKEN_BYTES_MAX} bytes")]
    TooLong,
    /// It is not a JWT with an accepted signature algorithm.
    #[error("the token is not a JWT signed with HS256, RS256, ES256 or EdDSA")]
    Malformed,
    /// No valid key has its `kid` and its algorithm: sign with a key that was added and not retired.
    #[error("no valid key of the tenant matches the token: sign with a key that was added and not retired")]
    UnknownKey,
    /// The signature does not match the key.
    #[error("the signature of the token is invalid")]
    BadSignature,
    /// A claim is missing or has an invalid form.
    #[error("the claim {claim} of the token is missing or malformed")]
    Claim {
        /// The name of the claim.
        claim: &'static str,
    },
    /// It has expired: get a new one.
    #[error("the token has expired")]
    Expired,
    /// It becomes valid later, or the clock of its issuer is ahead.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// Its audience is not accepted.
    #[error("the audience of the token is not accepted")]
    WrongAudience,
    /// Its issuer is not the tenant's.
    #[error("the issuer of the token is not accepted")]
    WrongIssuer,
    /// Its lifetime is longer than the tenant allows: use a shorter one.
    #[error("the lifetime of the token is longer than the tenant allows")]
    TooLongLived,
    /// It was revoked: get a new one.
    #[error("the token was revoked")]
    Revoked,
    /// It is for another tenant.
    #[error("the token is for another tenant")]
    WrongTenant,
    /// It is for another agent.
    #[error("the token is for another agent")]
    WrongAgent,
    /// It is not an administrator token.
    #[error("the token is not an administrator token: its role must be admin")]
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
    /// The text is not a JWK set.
    #[error("is not a JWK set: give a JSON object with `keys`")]
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
