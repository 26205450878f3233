//! Whose tenants a person of the dashboard may see.

/// Whose tenants a person may see. The session is of one tenant in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TenantScope {
    /// The tenant of the session.
    #[default]
    One,
    /// Every tenant, one after another: only for operators of the whole deployment.
    All,
}

impl TenantScope {
    /// Its name in tokens.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::All => "all",
        }
    }
}
