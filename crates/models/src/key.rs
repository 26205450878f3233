//! The API key of a model server.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

const REDACTED: &str = "[redacted]";

/// The API key of a model server. It has no `Display`. `Debug` and `Serialize` write `[redacted]`, or nothing if it is empty.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The key, for its header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn redacted(&self) -> &'static str {
        if self.is_empty() { "" } else { REDACTED }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({})", self.redacted())
    }
}

impl Serialize for ApiKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.redacted())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, debug: &str, json: &str) {
        let key = ApiKey::new(key);
        assert_eq!(format!("{key:?}"), debug);
        assert_eq!(serde_json::to_string(&key).unwrap(), json);
    }

    #[test]
    fn keys_are_never_shown() {
        check("sk-secret", "ApiKey([redacted])", "\"[redacted]\"");
        check("", "ApiKey()", "\"\"");
    }
}
