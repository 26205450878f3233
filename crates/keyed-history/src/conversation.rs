//! A key is a conversation: its id follows from agent, namespace and key, so that no table of keys is needed.

use domain::violation::check_length;
use domain::{AgentId, ConversationId, Violation, ViolationReason};
use sha2::{Digest as _, Sha256};

use crate::key::HistoryKey;

/// Most characters of a namespace.
pub const NAMESPACE_CHARS_MAX: usize = 64;
/// What the ids of keyed conversations begin with.
const ID_PREFIX: &str = "history:";
/// What is hashed before all else, so that a later scheme gives other ids.
const SCHEME: &str = "hansard.keyed-history.v1";

/// Keeps histories of one agent apart that would have the same key. 1 to [`NAMESPACE_CHARS_MAX`] of `A-Z a-z 0-9 _ -`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Namespace(String);

impl Namespace {
    /// What no name stands for.
    pub const DEFAULT: &'static str = "default";

    /// Takes the name if it is one; empty stands for [`Namespace::DEFAULT`].
    ///
    /// # Errors
    /// [`ViolationReason::TooLong`] or [`ViolationReason::Malformed`].
    pub fn parse(name: &str) -> Result<Self, Violation> {
        if name.is_empty() {
            return Ok(Self(Self::DEFAULT.to_owned()));
        }
        check_length(name.len(), NAMESPACE_CHARS_MAX)?;
        if name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        {
            return Ok(Self(name.to_owned()));
        }
        Err(Violation::new(
            ViolationReason::Malformed,
            "has other characters than A-Z a-z 0-9 _ -",
        ))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The conversation that keeps an agent's history of a key: `history:` and the SHA-256, in hexadecimal, of the scheme's
/// name, agent, namespace and key with a zero byte between them, which none of them can hold. Stable for ever.
///
/// # Panics
/// Never: what is made here has an id's form.
#[must_use]
#[expect(
    clippy::expect_used,
    reason = "a short fixed prefix and hexadecimal digits have an id's form"
)]
pub fn conversation(agent: &AgentId, namespace: &Namespace, key: &HistoryKey) -> ConversationId {
    let said = [SCHEME, agent.as_str(), namespace.as_str(), key.as_str()].join("\0");
    let digest = hex::encode(Sha256::digest(said.as_bytes()));
    ConversationId::parse(format!("{ID_PREFIX}{digest}")).expect("an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(agent: &str, namespace: &str, key: &str) -> String {
        let agent = AgentId::parse(agent).expect(agent);
        let namespace = Namespace::parse(namespace).expect(namespace);
        let key = HistoryKey::parse(key).expect(key);
        conversation(&agent, &namespace, &key).as_str().to_owned()
    }

    /// Whoever changes one of these loses every history that is kept.
    #[test]
    fn golden_ids() {
        for (key, expected) in [
            (
                "telegram:42",
                "history:fb72c812a4737ac429d82c17a2e2f0b2e6a473310514c6d8213e22cd3ff7e06f",
            ),
            (
                "用户:7",
                "history:0fccce45b73d2289be622f52c6c9a6fc8f6243bee896a132e96ceefa49d97240",
            ),
        ] {
            assert_eq!(id("support", "default", key), expected);
        }
    }

    #[test]
    fn agent_namespace_and_key_tell_histories_apart() {
        let ids = [
            id("a", "n", "k"),
            id("b", "n", "k"),
            id("a", "m", "k"),
            id("a", "n", "K"),
            id("an", "n", "k"),
            id("n", "a", "k"),
        ];
        for (index, one) in ids.iter().enumerate() {
            assert!(!ids[..index].contains(one), "{one}");
        }
        assert_eq!(id("a", "", "k"), id("a", "default", "k"));
    }

    #[test]
    fn namespaces_at_their_bounds() {
        let reason = |name: &str| {
            Namespace::parse(name)
                .err()
                .map(|violation| violation.reason)
        };
        assert_eq!(reason(&"n".repeat(64)), None);
        assert_eq!(reason(&"n".repeat(65)), Some(ViolationReason::TooLong));
        assert_eq!(reason("a:b"), Some(ViolationReason::Malformed));
    }
}
