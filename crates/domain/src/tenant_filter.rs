//! The tenants whose rows a database has.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::id::TenantId;

/// Selects commits by their tenant: those whose rows one of several databases has. Clones share the set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TenantFilter {
    /// These tenants.
    Only(Arc<BTreeSet<TenantId>>),
    /// All tenants except these.
    Except(Arc<BTreeSet<TenantId>>),
}

impl TenantFilter {
    /// Whether it selects a tenant.
    #[must_use]
    pub fn contains(&self, tenant: &TenantId) -> bool {
        match self {
            Self::Only(tenants) => tenants.contains(tenant),
            Self::Except(tenants) => !tenants.contains(tenant),
        }
    }
}

impl Default for TenantFilter {
    /// All tenants.
    fn default() -> Self {
        Self::Except(Arc::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_selected_by_one_of_two_filters() {
        let [acme, other] = ["acme", "other"].map(|id| TenantId::parse(id).unwrap());
        let listed = Arc::new(BTreeSet::from([acme.clone()]));
        let only = TenantFilter::Only(Arc::clone(&listed));
        let except = TenantFilter::Except(listed);
        for (filter, expected) in
            [(only, [true, false]), (except, [false, true]), (TenantFilter::default(), [true, true])]
        {
            let selected = [&acme, &other].map(|tenant| filter.contains(tenant));
            assert_eq!(selected, expected, "{filter:?}");
        }
    }
}
