//! The scopes of service tokens.

use std::fmt;

use wire::proto::operate::v1 as proto;

/// A permission of a service token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Appending to conversations.
    Append,
    /// Reading conversations.
    Read,
    /// Changing the registry.
    Operate,
    /// Erasing conversations.
    Erase,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Append, Self::Read, Self::Operate, Self::Erase];

    /// The scope of a message; `None`: it names no scope.
    #[must_use]
    pub fn from_proto(scope: proto::Scope) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.to_proto() == scope)
    }

    fn bit(self) -> u32 {
        1 << i32::from(self.to_proto())
    }

    fn to_proto(self) -> proto::Scope {
        match self {
            Self::Append => proto::Scope::Append,
            Self::Read => proto::Scope::Read,
            Self::Operate => proto::Scope::Operate,
            Self::Erase => proto::Scope::Erase,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Append => "append",
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Erase => "erase",
        })
    }
}

/// A set of scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u32);

impl Scopes {
    /// Whether a scope is among them.
    #[must_use]
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Ignores unknown scopes.
    pub(crate) fn from_proto(scopes: impl Iterator<Item = proto::Scope>) -> Self {
        scopes.filter_map(Scope::from_proto).collect()
    }

    pub(crate) fn to_proto(self) -> Vec<i32> {
        let contained = Scope::ALL.into_iter().filter(|scope| self.contains(*scope));
        contained.map(|scope| scope.to_proto().into()).collect()
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}
