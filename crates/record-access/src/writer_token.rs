//! Checks the gateway's own service token in the registry, which knows of revocations and expiries at once.

use domain::{SweepAccess, Timestamp};
use registry::{Principal, Registry};
use runtime::config::Secret;
use wire::status::{Problem, Reason};

use crate::Gateway;

/// Why the gateway cannot work under its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenRefused {
    /// The registry does not know it.
    #[error("`writer_token` is unknown, revoked or expired: set one with the scopes append and read for all tenants")]
    Invalid,
    /// It cannot append for every tenant.
    #[error("`writer_token` is not a token with the scope append for all tenants: set one")]
    Weak,
}

impl From<TokenRefused> for Problem {
    fn from(refused: TokenRefused) -> Self {
        Self::new(Reason::MissingScope, refused.to_string())
    }
}

/// Checks the token from memory, for readiness. An empty token is valid: the gateway then serves reads and forwards the commands of callers.
///
/// # Errors
/// [`TokenRefused`].
pub fn check(registry: &Registry, token: &Secret, now: Timestamp) -> Result<(), TokenRefused> {
    if token.is_empty() {
        return Ok(());
    }
    access_of(registry, registry.known_principal(token.expose(), now)).map(drop)
}

/// The access to runs of all tenants under the token.
///
/// # Errors
/// [`TokenRefused`].
pub async fn sweep_access(gateway: &Gateway, token: &Secret) -> Result<SweepAccess, TokenRefused> {
    let registry = &gateway.registry;
    access_of(registry, registry.authenticate(token.expose(), gateway.now()).await)
}

fn access_of(registry: &Registry, principal: Option<Principal>) -> Result<SweepAccess, TokenRefused> {
    let principal = principal.ok_or(TokenRefused::Invalid)?;
    registry.authorize_sweep(&principal).map_err(|_| TokenRefused::Weak)
}
