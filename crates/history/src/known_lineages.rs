//! The lineages of forks that were read before. The ancestors of a known fork are read together with the fork itself.
//!
//! A conversation never changes its fork point, so a lineage never changes. It only names the conversations to read early:
//! each read checks the fork points that it finds.

use std::sync::Arc;

use domain::{ConversationKey, ForkPoint};
use quick_cache::sync::Cache;

/// Maximum number of known lineages.
pub const LINEAGES_KNOWN_MAX: usize = 2_000;

/// A bounded cache of lineages. Clones share it.
#[derive(Debug, Clone)]
pub struct KnownLineages(Arc<Cache<ConversationKey, Arc<KnownLineage>>>);

/// The lineage of a fork.
#[derive(Debug)]
pub(crate) struct KnownLineage {
    /// The fork points, the nearest first.
    pub(crate) points: Vec<ForkPoint>,
    /// At least as many versions were recorded by the fork itself.
    pub(crate) own: u64,
}

impl Default for KnownLineages {
    fn default() -> Self {
        Self(Arc::new(Cache::new(LINEAGES_KNOWN_MAX)))
    }
}

impl KnownLineages {
    pub(crate) fn get(&self, fork: &ConversationKey) -> Option<Arc<KnownLineage>> {
        self.0.get(fork)
    }

    /// Adds a lineage, unless the fork's is known.
    pub(crate) fn insert(&self, fork: &ConversationKey, lineage: impl FnOnce() -> KnownLineage) {
        if self.0.peek(fork).is_none() {
            self.0.insert(fork.clone(), Arc::new(lineage()));
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::{ConversationId, TenantId, Version};

    use super::*;

    fn key(number: usize) -> ConversationKey {
        ConversationKey {
            tenant: TenantId::parse("acme").unwrap(),
            conversation: ConversationId::parse(format!("c{number}")).unwrap(),
        }
    }

    fn lineage(own: u64) -> KnownLineage {
        let point = ForkPoint { conversation: key(0).conversation, version: Version(1), depth: 1 };
        KnownLineage { points: vec![point], own }
    }

    #[test]
    fn the_first_lineage_of_a_fork_is_kept() {
        let known = KnownLineages::default();
        assert!(known.get(&key(1)).is_none());
        known.insert(&key(1), || lineage(1));
        known.insert(&key(1), || lineage(2));
        assert_eq!(known.get(&key(1)).unwrap().own, 1);
    }

    #[test]
    fn the_number_of_lineages_is_bounded() {
        let known = KnownLineages::default();
        for number in 0..=LINEAGES_KNOWN_MAX {
            known.insert(&key(number), || lineage(1));
        }
        let found = (0..=LINEAGES_KNOWN_MAX).filter(|number| known.get(&key(*number)).is_some());
        let count = found.count();
        assert!(count <= LINEAGES_KNOWN_MAX && count > 0, "{count}");
    }
}
