//! The rules of a tenant for its tokens, besides the signature.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};

/// The default maximum lifetime of a token.
pub const LIFETIME_MAX_DEFAULT: Duration = Duration::from_hours(24);

/// SHA-256 of a token's `jti`.
pub type TokenIdDigest = [u8; 32];

/// The rules of a tenant for its tokens. Clones share the set of revoked tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRules {
    /// The required audience; none: `aud` may be missing, or must be Hansard or the agent.
    pub audience: Option<String>,
    /// The required `iss`; none: any.
    pub issuer: Option<String>,
    /// The maximum time from `iat`, or from now without `iat`, to `exp`.
    pub lifetime_max: Duration,
    /// The digests of the `jti` of revoked tokens.
    pub revoked: Arc<HashSet<TokenIdDigest>>,
}

impl Default for TokenRules {
    fn default() -> Self {
        Self { audience: None, issuer: None, lifetime_max: LIFETIME_MAX_DEFAULT, revoked: Arc::default() }
    }
}

/// The digest of a `jti`, which identifies a revoked token.
#[must_use]
pub fn token_id_digest(token_id: &str) -> TokenIdDigest {
    let mut bytes = TokenIdDigest::default();
    let hash = digest(&SHA256, token_id.as_bytes());
    bytes.copy_from_slice(hash.as_ref());
    bytes
}
