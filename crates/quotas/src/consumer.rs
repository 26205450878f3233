//! Who uses a resource.

use crate::limits::Scope;

/// Who uses a resource: everyone whose quotas a use counts against.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Consumer {
    /// The tenant.
    pub tenant: String,
    /// The agent.
    pub agent: String,
    /// The API key's id; none: an internal service calls.
    pub key: Option<String>,
    /// The user or session; none: nobody owns what is used.
    pub owner: Option<String>,
    /// The client's address; none: an internal service calls.
    pub address: Option<String>,
}

/// One who is limited: a scope, and a name that is unique in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject {
    /// The scope.
    pub scope: Scope,
    /// The tenant; empty for addresses, which are counted over all tenants.
    pub tenant: String,
    /// The name in the tenant; empty for the tenant itself.
    pub name: String,
}

impl Consumer {
    /// Whom a use counts against, the widest scope first; at most one subject a scope.
    pub fn subjects(&self) -> impl Iterator<Item = Subject> {
        let named = |scope, name: Option<&String>| {
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
            named(Scope::Tenant, Some(&whole)),
            named(Scope::Agent, Some(&self.agent)),
            named(Scope::Key, self.key.as_ref()),
            named(Scope::Owner, self.owner.as_ref()),
            named(Scope::Address, self.address.as_ref()),
        ]
        .into_iter()
        .flatten()
    }
}
