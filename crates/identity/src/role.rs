//! The roles of the dashboard.

/// What a signed-in person may do. Each role may do what the roles before it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Reads the conversations of the tenant.
    Viewer,
    /// Exports and erases one conversation.
    Support,
    /// Changes settings and keys, and reads the audit log.
    Administrator,
    /// Sees the state of the whole deployment, and signs in to every tenant.
    Operator,
}

impl Role {
    /// Every role, the lowest first.
    pub const ALL: [Self; 4] = [Self::Viewer, Self::Support, Self::Administrator, Self::Operator];

    /// The role with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == name)
    }

    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Support => "support",
            Self::Administrator => "administrator",
            Self::Operator => "operator",
        }
    }
}
