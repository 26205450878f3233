//! Indexes that were read lately: whoever looks for one conversation after the other reads each once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::segment::Index;

/// Conversations and blocks that the kept indexes may list together; about 200 bytes each.
const ENTRIES_KEPT_MAX: usize = 500_000;

/// Indexes by their objects' names, the oldest first.
type Kept = VecDeque<(String, Arc<Index>)>;

/// The indexes of objects, which never change. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Indexes(Arc<Mutex<Kept>>);

impl Indexes {
    pub(crate) fn get(&self, object: &str) -> Option<Arc<Index>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(name, _)| name == object);
        found.map(|(_, index)| Arc::clone(index))
    }

    /// Keeps an index, and lets go of the oldest ones that are too much then; of one that is too much alone, too.
    pub(crate) fn keep(&self, object: &str, index: &Arc<Index>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((object.to_owned(), Arc::clone(index)));
        while kept.iter().map(|(_, index)| entries(index)).sum::<usize>() > ENTRIES_KEPT_MAX {
            kept.pop_front();
        }
    }
}

fn entries(index: &Index) -> usize {
    index.blocks.len().saturating_add(index.conversations.len())
}

#[cfg(test)]
mod tests {
    use domain::{
        ChainHash, ConversationId, ConversationKey, Partition, Sequence, TenantId, Version,
    };
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
        };
        Arc::new(Index {
            origin: Origin {
                record: RecordId([0; 8]),
                partition: Partition(0),
                segment: Uuid::nil(),
            },
            blocks: Vec::new(),
            conversations: vec![entry; conversations],
        })
    }

    #[test]
    fn the_oldest_go_first() {
        let indexes = Indexes::default();
        let half = ENTRIES_KEPT_MAX / 2;
        for (name, size, expected) in [
            ("a", half, vec!["a"]),
            ("b", half, vec!["a", "b"]),
            ("c", 1, vec!["b", "c"]),
            ("d", ENTRIES_KEPT_MAX, vec!["d"]),
            ("e", ENTRIES_KEPT_MAX + 1, vec![]),
        ] {
            indexes.keep(name, &index(size));
            let names = ["a", "b", "c", "d", "e"];
            let kept: Vec<&str> = names
                .into_iter()
                .filter(|name| indexes.get(name).is_some())
                .collect();
            assert_eq!(kept, expected);
        }
    }
}
