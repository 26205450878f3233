//! What a tenant demands of its tokens, beside their signature.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};

/// The longest life of a token where the tenant says nothing.
pub const LIFETIME_MAX_DEFAULT: Duration = Duration::from_hours(24);

/// SHA-256 of a token's `jti`.
pub type TokenIdDigest = [u8; 32];

/// What a tenant demands of its tokens. Clones share the revoked ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRules {
    /// The audience that `aud` must have; none: `aud` may be missing, and names Hansard or the agent where it is there.
    pub audience: Option<String>,
    /// What `iss` must be; none: anything.
    pub issuer: Option<String>,
    /// The longest time from `iat` to `exp`; from now to `exp` where there is no `iat`.
    pub lifetime_max: Duration,
    /// Tokens that were revoked, by their `jti`.
    pub revoked: Arc<HashSet<TokenIdDigest>>,
}

impl Default for TokenRules {
    fn default() -> Self {
        Self {
            audience: None,
            issuer: None,
            lifetime_max: LIFETIME_MAX_DEFAULT,
            revoked: Arc::default(),
        }
    }
}

/// By which a revoked token is found again.
#[must_use]
pub fn token_id_digest(token_id: &str) -> TokenIdDigest {
    let mut bytes = TokenIdDigest::default();
    let hash = digest(&SHA256, token_id.as_bytes());
    bytes
        .iter_mut()
        .zip(hash.as_ref())
        .for_each(|(to, from)| *to = *from);
    bytes
}
