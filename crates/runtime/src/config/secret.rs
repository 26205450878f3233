//! Text that is never printed.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

const REDACTED: &str = "[redacted]";

/// A password, key, token, or a URL that contains one.
///
/// It has no `Display`. `Debug` and `Serialize` write `[redacted]`, or nothing if it is empty. Its
/// default in a configuration must therefore be empty or absent.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The secret text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is no secret.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn redacted(&self) -> &'static str {
        if self.is_empty() { "" } else { REDACTED }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.redacted())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.redacted())
    }
}
