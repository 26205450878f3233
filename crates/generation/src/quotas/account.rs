//! The account that a request counts against.

use std::net::IpAddr;

use ::quotas::Consumer;
use domain::{Owner, OwnerDigest};
use registry::AgentAccess;

/// The API key and the client address of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestSource {
    /// The id of the API key; `None`: the request has none.
    pub api_key_id: Option<String>,
    /// The client's address, as rate limits count it; `None`: unknown.
    pub address: Option<IpAddr>,
}

/// The account that a request counts against, with access to its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The right to act for the agent.
    pub access: AgentAccess,
    /// The tenant, agent, key, owner and address that it counts against.
    pub consumer: Consumer,
}

impl Account {
    /// The account of an owner who uses an agent.
    #[must_use]
    pub fn of(access: &AgentAccess, owner: Option<&Owner>, via: &RequestSource) -> Self {
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
