//! Whom a use counts against.

use std::net::IpAddr;

use ::quotas::Consumer;
use domain::Owner;
use event_log::registry::AgentAccess;
use sha2::{Digest as _, Sha256};

/// Bytes of an owner's digest: names that differ do not meet.
const OWNER_DIGEST_BYTES: usize = 16;

/// How a request came in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Via {
    /// The id of its API key; none: no frontend's.
    pub api_key_id: Option<String>,
    /// Its client's address, as rates count it; none: not known.
    pub address: Option<IpAddr>,
}

/// Whom a use counts against, with the leave to act for its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// Leave to act for the agent.
    pub access: AgentAccess,
    /// Everyone that it counts against.
    pub consumer: Consumer,
}

impl Account {
    /// The account of an agent's use by an owner.
    #[must_use]
    pub fn of(access: &AgentAccess, owner: Option<&Owner>, via: &Via) -> Self {
        Self {
            access: access.clone(),
            consumer: Consumer {
                tenant: access.tenant.tenant().as_str().to_owned(),
                agent: access.agent.as_str().to_owned(),
                key: via.api_key_id.clone(),
                owner: owner.map(owner_digest),
                address: via.address.map(|address| address.to_string()),
            },
        }
    }
}

/// An owner's name in counts and logs: a digest, in hexadecimal, that is the same everywhere.
#[must_use]
pub fn owner_digest(owner: &Owner) -> String {
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
    let digest: [u8; 32] = hash.finalize().into();
    hex::encode(digest.get(..OWNER_DIGEST_BYTES).unwrap_or(&digest))
}
