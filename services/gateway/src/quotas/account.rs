//! Whom a use counts against.

use std::net::IpAddr;

use ::quotas::Consumer;
use domain::{Owner, OwnerDigest};
use event_log::registry::AgentAccess;

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
                owner: owner.map(|owner| OwnerDigest::of(owner).as_str().to_owned()),
                address: via.address.map(|address| address.to_string()),
            },
        }
    }
}
