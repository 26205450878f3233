//! Verifies ID tokens of an OpenID provider.
//!
//! Source: OpenID Connect Core 1.0, 3.1.3.7.

use domain::Timestamp;
use serde_json::{Map, Value};

use crate::claims::Claims;
use crate::token::signed;
use crate::{Key, TokenError};

/// What an ID token must name.
#[derive(Debug, Clone, Copy)]
pub struct IdTokenRules<'a> {
    /// The provider.
    pub issuer: &'a str,
    /// The client: the audience.
    pub client_id: &'a str,
    /// The value that the request for the token contained.
    pub nonce: &'a str,
}

/// The claims of a verified ID token. `Debug` shows their names only.
#[derive(Clone, PartialEq, Eq)]
pub struct IdTokenClaims(Map<String, Value>);

impl std::fmt::Debug for IdTokenClaims {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl IdTokenClaims {
    /// Claims that were verified.
    #[must_use]
    pub fn of(claims: Map<String, Value>) -> Self {
        Self(claims)
    }

    /// A claim that is text.
    #[must_use]
    pub fn text(&self, claim: &str) -> Option<&str> {
        self.0.get(claim)?.as_str()
    }

    /// Whether a claim is this value, or a list that contains it. Numbers and booleans are compared by their text.
    #[must_use]
    pub fn has(&self, claim: &str, value: &str) -> bool {
        let is_equal = |given: &Value| match given {
            Value::String(text) => text == value,
            Value::Number(number) => number.to_string() == value,
            Value::Bool(flag) => flag.to_string() == value,
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        match self.0.get(claim) {
            Some(Value::Array(several)) => several.iter().any(is_equal),
            Some(one) => is_equal(one),
            None => false,
        }
    }
}

/// Verifies an ID token with the provider's keys. `iss`, `aud`, `sub`, `exp`, `iat` and `nonce` are required; of several
/// audiences, `azp` must be the client.
///
/// # Errors
/// [`TokenError`].
pub fn verify_id_token(
    token: &str,
    keys: &[Key],
    rules: IdTokenRules<'_>,
    now: Timestamp,
) -> Result<IdTokenClaims, TokenError> {
    let (all, _) = signed::<Map<String, Value>>(token, keys)?;
    let claims: Claims = serde_json::from_value(Value::Object(all.clone())).map_err(|_| TokenError::Malformed)?;
    claims.check_time(now)?;
    claims.issued_at()?.ok_or(TokenError::Claim { claim: "iat" })?;
    claims.subject()?;
    let all = IdTokenClaims(all);
    if all.text("iss") != Some(rules.issuer) {
        return Err(TokenError::WrongIssuer);
    }
    check_audience(&all, rules.client_id)?;
    if all.text("nonce") != Some(rules.nonce) {
        return Err(TokenError::Claim { claim: "nonce" });
    }
    Ok(all)
}

fn check_audience(claims: &IdTokenClaims, client_id: &str) -> Result<(), TokenError> {
    let has_several = matches!(claims.0.get("aud"), Some(Value::Array(all)) if all.len() > 1);
    let party = claims.0.get("azp");
    let is_for_client = claims.has("aud", client_id);
    let is_party = party.and_then(Value::as_str) == Some(client_id);
    if is_for_client && (is_party || (party.is_none() && !has_several)) {
        return Ok(());
    }
    Err(TokenError::WrongAudience)
}
