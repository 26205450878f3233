//! A rule and its name.

use std::fmt;

/// A kind of secrets that is redacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Authorization headers, and credentials of the bearer and basic schemes.
    Authorization,
    /// Cookies.
    Cookie,
    /// Lightning invoices.
    Invoice,
    /// Macaroons.
    Macaroon,
    /// Payment preimages.
    Preimage,
    /// Seeds and seed phrases.
    Seed,
    /// Private keys.
    PrivateKey,
    /// Keys of providers and services.
    ApiKey,
    /// Tokens: access, refresh, id, session; JWTs.
    Token,
    /// Secrets.
    Secret,
    /// Passwords and passphrases, also in URLs.
    Password,
    /// PINs, one-time codes and card security codes.
    Pin,
    /// Card numbers.
    Card,
    /// The values of a policy's own keys.
    Key,
    /// Matches of a policy's own patterns.
    Pattern,
}

impl Rule {
    /// Every rule, in order.
    pub const ALL: [Self; 15] = [
        Self::Authorization,
        Self::Cookie,
        Self::Invoice,
        Self::Macaroon,
        Self::Preimage,
        Self::Seed,
        Self::PrivateKey,
        Self::ApiKey,
        Self::Token,
        Self::Secret,
        Self::Password,
        Self::Pin,
        Self::Card,
        Self::Key,
        Self::Pattern,
    ];

    /// The name in policies, marks and receipts. It never changes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Cookie => "cookie",
            Self::Invoice => "invoice",
            Self::Macaroon => "macaroon",
            Self::Preimage => "preimage",
            Self::Seed => "seed",
            Self::PrivateKey => "private_key",
            Self::ApiKey => "api_key",
            Self::Token => "token",
            Self::Secret => "secret",
            Self::Password => "password",
            Self::Pin => "pin",
            Self::Card => "card",
            Self::Key => "key",
            Self::Pattern => "pattern",
        }
    }

    /// The rule with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }

    /// Whether the rule works without keys or patterns of the policy.
    pub(crate) fn is_built_in(self) -> bool {
        !matches!(self, Self::Key | Self::Pattern)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
