//! The consumer of a resource, and the subjects whose quotas it uses.

use crate::Scope;

/// A consumer of a resource: all ids whose quotas a use counts for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Consumer {
    /// The tenant.
    pub tenant: String,
    /// The agent.
    pub agent: String,
    /// The id of the API key; none for internal services.
    pub key: Option<String>,
    /// The user or session; none: the resource has no owner.
    pub owner: Option<String>,
    /// The address of the client; none for internal services.
    pub address: Option<String>,
}

/// The subject of a quota: a scope and a name that is unique in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The scope.
    pub scope: Scope,
    /// The tenant; empty for addresses, which count across tenants.
    pub tenant: String,
    /// The name within the tenant; empty for the tenant itself.
    pub name: String,
}

impl Consumer {
    /// The subjects that a use counts for, the widest scope first, at most one per scope.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        let subject = |scope, name: Option<&String>| {
            Some(Subject {
                scope,
                tenant: match scope {
                    Scope::Address => String::new(),
                    Scope::Tenant | Scope::Agent | Scope::Key | Scope::Owner => self.tenant.clone(),
                },
                name: name?.clone(),
            })
        };
        let whole = String::new();
        [
            subject(Scope::Tenant, Some(&whole)),
            subject(Scope::Agent, Some(&self.agent)),
            subject(Scope::Key, self.key.as_ref()),
            subject(Scope::Owner, self.owner.as_ref()),
            subject(Scope::Address, self.address.as_ref()),
        ]
        .into_iter()
        .flatten()
    }
}
