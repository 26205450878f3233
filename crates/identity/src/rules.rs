//! The rules of a tenant for its tokens, besides the signature.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::SessionId;
use ring::digest::{Context, SHA256};

use crate::TokenError;

/// The default maximum lifetime of a token.
pub const LIFETIME_MAX_DEFAULT: Duration = Duration::from_hours(24);

/// Separates the digests of sessions from those of tokens: no `jti` has a zero byte.
const SESSION_LABEL: &str = "hansard session\0";

/// SHA-256 of what identifies a revoked token or session.
pub type RevocationDigest = [u8; 32];

/// The rules of a tenant for its tokens. Clones share the set of revoked tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRules {
    /// The required audience; none: `aud` may be missing, or must be Hansard or the agent.
    pub audience: Option<String>,
    /// The required `iss`; none: any.
    pub issuer: Option<String>,
    /// The maximum time from `iat`, or from now without `iat`, to `exp`.
    pub lifetime_max: Duration,
    /// The digests of revoked tokens and sessions.
    pub revoked: Arc<HashSet<RevocationDigest>>,
}

impl Default for TokenRules {
    fn default() -> Self {
        Self { audience: None, issuer: None, lifetime_max: LIFETIME_MAX_DEFAULT, revoked: Arc::default() }
    }
}

impl TokenRules {
    /// Checks that the token itself was not revoked. [`verify_user`](crate::verify_user) checks its `jti` apart.
    pub(crate) fn check_not_revoked(&self, token: &str) -> Result<(), TokenError> {
        if self.revoked.is_empty() || !self.revoked.contains(&token_digest(token)?) {
            return Ok(());
        }
        Err(TokenError::Revoked)
    }
}

/// The digest of a `jti`, which identifies a revoked token.
#[must_use]
pub fn token_id_digest(token_id: &str) -> RevocationDigest {
    sha256(&[token_id])
}

/// The digest of a token, which identifies it without a `jti`: of header and payload, the text before the last dot. The
/// signature is left out, because its holder can write an ECDSA signature in another way that is valid, too.
///
/// # Errors
/// [`TokenError::Malformed`]: it does not have three parts.
pub fn token_digest(token: &str) -> Result<RevocationDigest, TokenError> {
    let (signed, _) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
    let has_two_parts = signed.split('.').count() == 2;
    has_two_parts.then(|| sha256(&[signed])).ok_or(TokenError::Malformed)
}

/// The digest of the owner of an issued session, which identifies a revoked session.
#[must_use]
pub fn session_digest(owner: &SessionId) -> RevocationDigest {
    sha256(&[SESSION_LABEL, owner.as_str()])
}

fn sha256(texts: &[&str]) -> RevocationDigest {
    let mut context = Context::new(&SHA256);
    for text in texts {
        context.update(text.as_bytes());
    }
    let mut bytes = RevocationDigest::default();
    bytes.copy_from_slice(context.finish().as_ref());
    bytes
}
