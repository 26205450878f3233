//! Cache of segment indexes, for readers of several conversations.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::segment::Index;

/// Maximum conversations and blocks in all cached indexes; about 200 bytes each.
const ENTRIES_MAX: usize = 500_000;

/// Indexes by their objects' names, the oldest first.
type Cache = VecDeque<(String, Arc<Index>)>;

/// A cache of the indexes of objects, which are immutable. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Indexes(Arc<Mutex<Cache>>);

impl Indexes {
    pub(crate) fn get(&self, object: &str) -> Option<Arc<Index>> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = cache.iter().find(|(name, _)| name == object);
        found.map(|(_, index)| Arc::clone(index))
    }

    /// Adds an index and evicts the oldest ones above the maximum, even the new one if it alone exceeds it.
    pub(crate) fn keep(&self, object: &str, index: &Arc<Index>) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.push_back((object.to_owned(), Arc::clone(index)));
        while cache.iter().map(|(_, index)| entries(index)).sum::<usize>() > ENTRIES_MAX {
            cache.pop_front();
        }
    }
}

fn entries(index: &Index) -> usize {
    index.blocks.len().saturating_add(index.conversations.len())
}

#[cfg(test)]
mod tests {
    use domain::{ChainHash, ConversationId, ConversationKey, Partition, Sequence, TenantId, Version};
    use uuid::Uuid;
    use wire::token::RecordId;

    use super::*;
    use crate::segment::{ConversationEntry, Origin};

    fn index(conversations: usize) -> Arc<Index> {
        let entry = ConversationEntry {
            key: ConversationKey {
                tenant: TenantId::parse("t").unwrap(),
                conversation: ConversationId::parse("c").unwrap(),
            },
            commits: 1,
            events: 1,
            first: Sequence(1),
            last: Sequence(1),
            first_version: Version(1),
            last_version: Version(1),
            chain: ChainHash([0; 32]),
            is_hibernated: false,
            is_tombstone: false,
        };
        Arc::new(Index {
            origin: Origin { record: RecordId([0; 8]), partition: Partition(0), segment: Uuid::nil() },
            blocks: Vec::new(),
            conversations: vec![entry; conversations],
        })
    }

    #[test]
    fn the_oldest_are_evicted_first() {
        let indexes = Indexes::default();
        let half = ENTRIES_MAX / 2;
        for (name, size, expected) in [
            ("a", half, vec!["a"]),
            ("b", half, vec!["a", "b"]),
            ("c", 1, vec!["b", "c"]),
            ("d", ENTRIES_MAX, vec!["d"]),
            ("e", ENTRIES_MAX + 1, vec![]),
        ] {
            indexes.keep(name, &index(size));
            let names = ["a", "b", "c", "d", "e"];
            let cache = names.into_iter().filter(|name| indexes.get(name).is_some());
            assert_eq!(cache.collect::<Vec<_>>(), expected);
        }
    }
}
