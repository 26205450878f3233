//! Derives the ids of a history from the caller's key, so that no table of keys is needed.
//!
//! They are HMACs under the tenant's channel key. A key such as `telegram:4915550100` has few possible values, so a plain hash
//! could be reversed by trying all of them. Ids are part of subjects, tombstones, receipts and logs.

use domain::violation::check_length;
use domain::{AgentId, ChannelId, ConversationId, Violation, ViolationReason};
use ring::hmac;

use crate::key::HistoryKey;

/// Most characters of a namespace.
pub const NAMESPACE_CHARS_MAX: usize = 64;
/// Bytes of the tenant's channel key.
pub const CHANNEL_KEY_BYTES: usize = 32;
/// The first part of the input for a conversation's id; another derivation needs another name.
const CONVERSATION_SCHEME: &str = "hansard.keyed-history.v2";
/// The first part of the input for a channel's id.
const CHANNEL_SCHEME: &str = "hansard.channel.v1";

/// Separates histories of one agent with the same key. 1 to [`NAMESPACE_CHARS_MAX`] of `A-Z a-z 0-9 _ -`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Namespace(String);

impl Namespace {
    /// The namespace if the caller gives none.
    pub const DEFAULT: &'static str = "default";

    /// Parses a name; an empty text is [`Namespace::DEFAULT`].
    ///
    /// # Errors
    /// [`ViolationReason::TooLong`] or [`ViolationReason::Malformed`].
    pub fn parse(name: &str) -> Result<Self, Violation> {
        if name.is_empty() {
            return Ok(Self(Self::DEFAULT.to_owned()));
        }
        check_length(name.len(), NAMESPACE_CHARS_MAX)?;
        if name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) {
            return Ok(Self(name.to_owned()));
        }
        Err(Violation::new(ViolationReason::Malformed, "has other characters than A-Z a-z 0-9 _ -"))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The ids of a history. Neither reveals the caller's key without the tenant's channel key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HistoryIds {
    /// The conversation id: depends on agent, namespace and key.
    pub conversation: ConversationId,
    /// Its owner: depends only on the key, so it is the same for all agents and namespaces of the tenant.
    pub channel: ChannelId,
}

impl HistoryIds {
    /// Derives the ids of an agent's history of a key. The derivation never changes.
    ///
    /// Each is HMAC-SHA256 (RFC 2104) in hexadecimal digits, under the tenant's channel key, of the scheme's name and the
    /// parts, separated by zero bytes, which no part can contain. The conversation id has the prefix
    /// [`ConversationId::HISTORY_PREFIX`].
    ///
    /// # Panics
    /// Never: the derived texts are valid ids.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a short fixed prefix and hexadecimal digits are a valid id")]
    pub fn derive(
        channel_key: &[u8; CHANNEL_KEY_BYTES],
        agent: &AgentId,
        namespace: &Namespace,
        key: &HistoryKey,
    ) -> Self {
        let (agent, namespace, key) = (agent.as_str(), namespace.as_str(), key.as_str());
        let digest = tag(channel_key, &[CONVERSATION_SCHEME, agent, namespace, key]);
        let conversation = format!("{}{digest}", ConversationId::HISTORY_PREFIX);
        let channel = tag(channel_key, &[CHANNEL_SCHEME, key]);
        Self {
            conversation: ConversationId::parse(conversation).expect("an id"),
            channel: ChannelId::parse(channel).expect("an id"),
        }
    }
}

/// HMAC-SHA256 of the parts, separated by zero bytes, in hexadecimal digits.
pub(crate) fn tag(channel_key: &[u8; CHANNEL_KEY_BYTES], parts: &[&str]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, channel_key);
    hex::encode(hmac::sign(&key, parts.join("\0").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(tenant: u8, [agent, namespace, key]: [&str; 3]) -> (String, String) {
        let agent = AgentId::parse(agent).expect(agent);
        let namespace = Namespace::parse(namespace).expect(namespace);
        let key = HistoryKey::parse(key).expect(key);
        let ids = HistoryIds::derive(&[tenant; CHANNEL_KEY_BYTES], &agent, &namespace, &key);
        let conversation = ids.conversation.as_str().to_owned();
        (conversation, ids.channel.as_str().to_owned())
    }

    /// A change of one of these loses every stored history. Computed by Python's `hmac`, not by this program.
    #[test]
    fn golden_ids() {
        for (key, conversation, channel) in [
            (
                "telegram:42",
                "6a63678dffcd389db941c99cf20fc7998d49ac7c9cfbb637e585852b99531e07",
                "ee63b310768526c4d48c565ed400627c613ab9e6262f969b300fdaab34b31159",
            ),
            (
                "用户:7",
                "cf02e031bfb871ce25f27d5cc53d6037bd4d3598b45594d456af15537c572f50",
                "d061a2649a1deb48168eb4765fb4ab53ecf5d7e631deb524380da46042f5217b",
            ),
        ] {
            let expected = (format!("history:{conversation}"), channel.to_owned());
            assert_eq!(ids(7, ["support", "default", key]), expected);
        }
    }

    #[test]
    fn tenant_agent_namespace_and_key_tell_histories_apart() {
        let all = [
            ids(1, ["a", "n", "k"]).0,
            ids(2, ["a", "n", "k"]).0,
            ids(1, ["b", "n", "k"]).0,
            ids(1, ["a", "m", "k"]).0,
            ids(1, ["a", "n", "K"]).0,
            ids(1, ["an", "n", "k"]).0,
            ids(1, ["n", "a", "k"]).0,
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[..index].contains(one), "{one}");
        }
        assert_eq!(ids(1, ["a", "", "k"]), ids(1, ["a", "default", "k"]));
    }

    #[test]
    fn a_channel_is_of_tenant_and_key_alone() {
        let channel = ids(1, ["a", "n", "k"]).1;
        assert_eq!(ids(1, ["b", "m", "k"]).1, channel);
        for other in [ids(2, ["a", "n", "k"]).1, ids(1, ["a", "n", "K"]).1] {
            assert_ne!(other, channel);
        }
    }

    #[test]
    fn namespaces_at_their_bounds() {
        let reason = |name: &str| Namespace::parse(name).err().map(|violation| violation.reason);
        assert_eq!(reason(&"n".repeat(64)), None);
        assert_eq!(reason(&"n".repeat(65)), Some(ViolationReason::TooLong));
        assert_eq!(reason("a:b"), Some(ViolationReason::Malformed));
    }
}
