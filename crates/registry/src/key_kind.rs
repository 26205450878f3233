//! The kinds of keys that can end and are used.

use wire::proto::operate::v1 as proto;

/// The kind of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyKind {
    /// An API key of an agent.
    ApiKey,
    /// A service token.
    ServiceToken,
    /// A signing key of a tenant.
    SigningKey,
}

impl KeyKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::ApiKey, Self::ServiceToken, Self::SigningKey];

    /// Its name in labels and JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::ServiceToken => "service_token",
            Self::SigningKey => "signing_key",
        }
    }

    /// Its name in sentences.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::ApiKey => "API key",
            Self::ServiceToken => "service token",
            Self::SigningKey => "signing key",
        }
    }

    /// The kind of a message; `None`: this version does not know it.
    #[must_use]
    pub fn from_proto(kind: proto::KeyKind) -> Option<Self> {
        match kind {
            proto::KeyKind::Unspecified => None,
            proto::KeyKind::ApiKey => Some(Self::ApiKey),
            proto::KeyKind::ServiceToken => Some(Self::ServiceToken),
            proto::KeyKind::SigningKey => Some(Self::SigningKey),
        }
    }
}

impl From<KeyKind> for proto::KeyKind {
    fn from(kind: KeyKind) -> Self {
        match kind {
            KeyKind::ApiKey => Self::ApiKey,
            KeyKind::ServiceToken => Self::ServiceToken,
            KeyKind::SigningKey => Self::SigningKey,
        }
    }
}
