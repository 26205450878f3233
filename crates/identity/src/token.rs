//! Decodes a token and verifies its signature. The callers check the claims.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header};
use serde::de::DeserializeOwned;

use crate::claims::Claims;
use crate::{KEYS_TRIED_MAX, Key, TOKEN_BYTES_MAX, TokenError, ring_backend};

/// The claims of a token, and the key that it was signed with.
pub(crate) fn signed_claims<'k>(token: &str, keys: &'k [Key]) -> Result<(Claims, &'k Key), TokenError> {
    signed(token, keys)
}

/// The content of a token, and the key that it was signed with.
pub(crate) fn signed<'k, T: DeserializeOwned>(token: &str, keys: &'k [Key]) -> Result<(T, &'k Key), TokenError> {
    ring_backend::install();
    let header = header(token)?;
    let matching = keys.iter().filter(|key| matches_header(key, &header));
    let mut outcome = Err(TokenError::UnknownKey);
    for key in matching.take(KEYS_TRIED_MAX) {
        outcome = verify(token, key).map(|content| (content, key));
        if !matches!(outcome, Err(TokenError::BadSignature)) {
            return outcome;
        }
    }
    outcome
}

/// Checks the length of a token.
pub(crate) fn check_length(token: &str) -> Result<(), TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::TooLong);
    }
    Ok(())
}

fn header(token: &str) -> Result<Header, TokenError> {
    check_length(token)?;
    let header = decode_header(token).map_err(|_| TokenError::Malformed)?;
    // Extensions are not supported, so none may be critical (RFC 7515, 4.1.11). Encrypted tokens are not supported.
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(TokenError::Malformed);
    }
    Ok(header)
}

/// Whether a key has the `kid` and the algorithm of the header. The key determines its algorithm, never the token.
fn matches_header(key: &Key, header: &Header) -> bool {
    let has_id = header.kid.as_deref().is_none_or(|kid| key.has_id(kid));
    has_id && key.algorithm() == header.alg
}

fn verify<T: DeserializeOwned>(token: &str, key: &Key) -> Result<T, TokenError> {
    let mut validation = Validation::new(key.algorithm());
    // This crate checks the claims, with the time as an argument.
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    match decode(token, key.decoding(), &validation) {
        Ok(token) => Ok(token.claims),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => Err(TokenError::BadSignature),
        Err(_) => Err(TokenError::Malformed),
    }
}
