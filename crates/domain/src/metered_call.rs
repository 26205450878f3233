//! The tokens of one model call, and the consumers that they count against.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::violation::{Violation, ViolationReason};
use crate::{AgentId, Label, LogId, Owner};

/// Bytes of an owner's digest: digests of different owners differ.
const OWNER_DIGEST_BYTES: usize = 16;

/// The digest that identifies an owner in counts and logs. 32 of `0-9 a-f`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerDigest(Box<str>);

/// The tokens of one model call, and the consumers that they count against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeteredCall {
    /// The call's id.
    pub id: LogId,
    /// The agent, which determines the tenant.
    pub agent: AgentId,
    /// The API key's id; `None`: the caller is no frontend.
    pub api_key: Option<Label>,
    /// The owner; `None`: the call belongs to no owner.
    pub owner: Option<OwnerDigest>,
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
}

impl OwnerDigest {
    /// The digest of an owner.
    #[must_use]
    pub fn of(owner: &Owner) -> Self {
        let mut hash = Sha256::new();
        let mut add = |kind: &str, id: &str| {
            hash.update(kind);
            hash.update(id);
        };
        match owner {
            Owner::User(user) => add("user:", user.as_str()),
            Owner::Channel(channel) => add("channel:", channel.as_str()),
            Owner::Session(session) => add("session:", session.as_str()),
        }
        let hash_bytes: [u8; 32] = hash.finalize().into();
        let digest = hash_bytes.iter().take(OWNER_DIGEST_BYTES);
        let text = digest.fold(String::new(), |mut text, byte| {
            // A String takes every write.
            let _ = write!(text, "{byte:02x}");
            text
        });
        Self(text.into_boxed_str())
    }

    /// Parses a digest.
    ///
    /// # Errors
    /// [`ViolationReason::Malformed`]; the field is empty.
    pub fn parse(text: &str) -> Result<Self, Violation> {
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 2 * OWNER_DIGEST_BYTES || !text.bytes().all(is_hex) {
            let rule = "is not a digest of an owner: give 32 characters of 0-9 a-f";
            return Err(Violation::new(ViolationReason::Malformed, rule));
        }
        Ok(Self(text.into()))
    }

    /// The digest, in hexadecimal.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SessionId, UserId};

    #[test]
    fn owners_have_digests_of_their_own() {
        let user = OwnerDigest::of(&Owner::User(UserId::parse("ada").unwrap()));
        let session = OwnerDigest::of(&Owner::Session(SessionId::parse("ada").unwrap()));
        assert_eq!(user.as_str(), "19d0191a4a07579538f81a3f3f84fc45");
        assert_ne!(user, session);
        assert_eq!(OwnerDigest::parse(user.as_str()), Ok(user));
    }

    #[test]
    fn what_is_no_digest() {
        for text in ["", "ada", &"a".repeat(31), &"a".repeat(33), &"A".repeat(32), &".".repeat(32)] {
            assert!(OwnerDigest::parse(text).is_err(), "{text}");
        }
    }
}
