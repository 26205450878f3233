//! Derives the ids of documents.
//!
//! A document of an agent or an owner is a conversation of its own. Its id is a keyed hash, like that of a history: ids are part
//! of subjects, tombstones and logs, and must not reveal a key or a namespace, such as a user's name.

use domain::{AgentId, ChannelId, ConversationId, DocumentName, Owner};

use crate::ids::{CHANNEL_KEY_BYTES, tag};

/// The first part of the input for a document's id; another derivation needs another name.
const DOCUMENT_SCHEME: &str = "hansard.document.v1";
/// The first part of the input for the channel that owns an agent's documents.
const AGENT_SCHEME: &str = "hansard.document-agent.v1";

/// The conversation of a document, and its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DocumentIds {
    /// The conversation id: depends on agent, owner, namespace and key.
    pub conversation: ConversationId,
    /// The owner; for documents of the agent itself a channel that is derived from the agent.
    pub owner: Owner,
}

impl DocumentIds {
    /// Derives the ids of a document of an owner, or of the agent itself. The derivation never changes.
    ///
    /// The id is HMAC-SHA256 (RFC 2104) in hexadecimal digits, under the tenant's channel key, of the scheme's name, the agent, the
    /// kind and the id of the owner, the number of labels, the labels and the key, separated by zero bytes, which no part can
    /// contain. It has the prefix [`ConversationId::DOCUMENT_PREFIX`].
    ///
    /// # Panics
    /// Never: the derived texts are valid ids.
    #[must_use]
    #[expect(clippy::expect_used, reason = "a short fixed prefix and hexadecimal digits are a valid id")]
    pub fn derive(
        channel_key: &[u8; CHANNEL_KEY_BYTES],
        agent: &AgentId,
        owner: Option<&Owner>,
        name: &DocumentName,
    ) -> Self {
        let (kind, id) = match owner {
            None => ("agent", ""),
            Some(Owner::User(user)) => ("user", user.as_str()),
            Some(Owner::Session(session)) => ("session", session.as_str()),
            Some(Owner::Channel(channel)) => ("channel", channel.as_str()),
        };
        let labels = name.namespace.labels();
        let count = labels.len().to_string();
        let mut parts = vec![DOCUMENT_SCHEME, agent.as_str(), kind, id, &count];
        parts.extend(labels.iter().map(String::as_str));
        parts.push(&name.key);
        let digest = tag(channel_key, &parts);
        let conversation = format!("{}{digest}", ConversationId::DOCUMENT_PREFIX);
        Self {
            conversation: ConversationId::parse(conversation).expect("an id"),
            owner: owner_or_agent(channel_key, agent, owner),
        }
    }
}

/// The owner of documents; that of an agent's own documents is a channel.
///
/// # Panics
/// Never: the derived text is a valid id.
#[must_use]
#[expect(clippy::expect_used, reason = "hexadecimal digits are a valid id")]
pub fn owner_or_agent(channel_key: &[u8; CHANNEL_KEY_BYTES], agent: &AgentId, owner: Option<&Owner>) -> Owner {
    owner.cloned().unwrap_or_else(|| {
        let channel = tag(channel_key, &[AGENT_SCHEME, agent.as_str()]);
        Owner::Channel(ChannelId::parse(channel).expect("an id"))
    })
}

#[cfg(test)]
mod tests {
    use domain::{SessionId, UserId};

    use super::*;

    fn ids(tenant: u8, agent: &str, owner: Option<&Owner>, name: (&[&str], &str)) -> DocumentIds {
        let labels = name.0.iter().map(|label| (*label).to_owned());
        let name = DocumentName::parse(labels.collect(), name.1.to_owned()).unwrap();
        let agent = AgentId::parse(agent).unwrap();
        DocumentIds::derive(&[tenant; CHANNEL_KEY_BYTES], &agent, owner, &name)
    }

    fn user(id: &str) -> Owner {
        Owner::User(UserId::parse(id).unwrap())
    }

    /// A change of one of these loses every document that is kept. Computed by Python's `hmac`, not by this program.
    #[test]
    fn golden_ids() {
        let of_agent = ids(7, "support", None, (&["memories", "用户"], "k/1"));
        let expected = "document:2f5c23f91317c62784d9d8fbaaceacd3a193597a9d5810c70d017a415e3981ae";
        assert_eq!(of_agent.conversation.as_str(), expected);
        let channel = "b1778bedb220304651551c89a163f04717392eda188b7019a5871713e4d0ab8f";
        let channel = Owner::Channel(ChannelId::parse(channel).unwrap());
        assert_eq!(of_agent.owner, channel);
        let of_user = ids(7, "support", Some(&user("u-1")), (&["memories"], "k"));
        let expected = "document:da775966faeab239d0a9611618dfaa19d8c26ee33e7fa0627411ff50d87c7d62";
        assert_eq!(of_user.conversation.as_str(), expected);
        assert_eq!(of_user.owner, user("u-1"));
    }

    #[test]
    fn every_part_tells_documents_apart() {
        let session = Owner::Session(SessionId::parse("u").unwrap());
        let (user, other) = (user("u"), user("v"));
        let all = [
            ids(1, "a", None, (&["n"], "k")),
            ids(2, "a", None, (&["n"], "k")),
            ids(1, "b", None, (&["n"], "k")),
            ids(1, "a", None, (&["m"], "k")),
            ids(1, "a", None, (&["n"], "K")),
            ids(1, "a", None, (&["n", "k"], "k")),
            ids(1, "a", None, (&["n", "n"], "k")),
            ids(1, "a", Some(&user), (&["n"], "k")),
            ids(1, "a", Some(&other), (&["n"], "k")),
            ids(1, "a", Some(&session), (&["n"], "k")),
        ];
        for (index, one) in all.iter().enumerate() {
            let mut earlier = all.iter().take(index);
            assert!(earlier.all(|other| other.conversation != one.conversation));
        }
    }
}
