//! From a token to its claims: form, key, signature. What they say is checked by whoever reads them.

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Header, Validation, decode, decode_header};

use crate::bounds::{KEYS_TRIED_MAX, TOKEN_BYTES_MAX};
use crate::claims::Claims;
use crate::error::TokenError;
use crate::key::Key;
use crate::ring_backend;

/// The claims of a token that one of the keys has signed.
pub(crate) fn signed_claims(token: &str, keys: &[Key]) -> Result<Claims, TokenError> {
    ring_backend::install();
    let header = header(token)?;
    let meant = keys.iter().filter(|key| is_meant(key, &header));
    let mut outcome = Err(TokenError::UnknownKey);
    for key in meant.take(KEYS_TRIED_MAX) {
        outcome = claims_by(token, key);
        if !matches!(outcome, Err(TokenError::BadSignature)) {
            return outcome;
        }
    }
    outcome
}

/// Refuses what is too long to be read.
pub(crate) fn check_length(token: &str) -> Result<(), TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::TooLong);
    }
    Ok(())
}

fn header(token: &str) -> Result<Header, TokenError> {
    check_length(token)?;
    let header = decode_header(token).map_err(|_| TokenError::Malformed)?;
    // No extension is understood, so that none may be critical (RFC 7515, 4.1.11); and an encrypted token is another thing.
    if header.crit.is_some() || header.enc.is_some() || header.zip.is_some() {
        return Err(TokenError::Malformed);
    }
    Ok(header)
}

/// A key is for the one algorithm that it was made for: what the token says only chooses among them.
fn is_meant(key: &Key, header: &Header) -> bool {
    let is_named = header.kid.as_deref().is_none_or(|kid| key.is_called(kid));
    is_named && key.algorithm() == header.alg
}

fn claims_by(token: &str, key: &Key) -> Result<Claims, TokenError> {
    let mut validation = Validation::new(key.algorithm());
    // The claims are checked here, against the time that is passed in.
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    match decode(token, key.decoding(), &validation) {
        Ok(token) => Ok(token.claims),
        Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {
            Err(TokenError::BadSignature)
        }
        Err(_) => Err(TokenError::Malformed),
    }
}
