//! The partitions in which a conversation may be, while partitions are added. Pure.
//!
//! The first generation of a record has the partitions of its creation. Each later generation adds partitions. A conversation
//! stays where it was created. So it is in one of its *candidates*: the partitions that the generations choose for it.

use sha2::Digest as _;
use thiserror::Error;

use crate::id::ConversationKey;
use crate::position::{Partition, hash_of};

/// Maximum number of partitions of a record.
pub const PARTITIONS_MAX: u16 = 1_024;
/// Maximum number of generations. A read of an unknown conversation asks each of its candidates, at most one per generation.
pub const GENERATIONS_MAX: usize = 8;

/// The generations of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The number of partitions of the first generation.
    first: u16,
    /// The numbers of partitions of the later generations, ascending.
    later: Vec<u16>,
    /// The stage of the last generation.
    stage: Stage,
}

/// The stage of a generation. A process may be one stage behind the others, never two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Readers ask the new partitions; conversations are created as before.
    Announced,
    /// A conversation is created in its new partition after its previous one was closed for it.
    Closing,
    /// A conversation is created in its new partition.
    Open,
}

/// Where a conversation without commits is created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Creation {
    /// The partition of its first commit.
    pub partition: Partition,
    /// The partition to close for it before the first commit.
    pub close: Option<Partition>,
    /// Other partitions that must be empty: the first commit may be there.
    pub others: Vec<Partition>,
}

/// A number of partitions that cannot follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// Partitions cannot be removed.
    #[error("the record has {current} partitions already: give a larger number, at most {PARTITIONS_MAX}")]
    NotMore {
        /// The present number.
        current: u16,
    },
    /// The number is over [`PARTITIONS_MAX`].
    #[error("{given} partitions are too many: give at most {PARTITIONS_MAX}")]
    TooMany {
        /// The given number.
        given: u16,
    },
    /// The record has grown too often.
    #[error("the record has grown {} times, which is the maximum", GENERATIONS_MAX - 1)]
    TooManyGenerations,
    /// An earlier growth has not ended.
    #[error(
        "the growth to {partitions} partitions has not ended: finish it with `hansard partitions add {partitions}`"
    )]
    Growing {
        /// Its number of partitions.
        partitions: u16,
    },
}

impl Layout {
    /// The layout of a record that has not grown.
    #[must_use]
    pub const fn new(partitions: u16) -> Self {
        Self { first: partitions, later: Vec::new(), stage: Stage::Open }
    }

    /// The layout with the given generations; `None`: the numbers are not ascending, too large or too many.
    #[must_use]
    pub fn from_parts(partitions: &[u16], stage: Stage) -> Option<Self> {
        let (first, later) = partitions.split_first()?;
        let mut layout = Self::new(*first);
        for number in later {
            layout = layout.grown(*number).ok()?;
            layout.stage = Stage::Open;
        }
        if stage != Stage::Open && layout.later.is_empty() {
            return None;
        }
        layout.stage = stage;
        (*first > 0).then_some(layout)
    }

    /// The numbers of partitions of each generation, ascending.
    #[must_use]
    pub fn generations(&self) -> Vec<u16> {
        let first = std::iter::once(self.first);
        first.chain(self.later.iter().copied()).collect()
    }

    /// The stage of the last generation.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        self.stage
    }

    /// The number of partitions, with those of a generation that is not open yet.
    #[must_use]
    pub fn partitions(&self) -> u16 {
        self.later.last().copied().unwrap_or(self.first)
    }

    /// The layout with a further generation, announced.
    ///
    /// # Errors
    /// [`LayoutError`].
    pub fn grown(&self, partitions: u16) -> Result<Self, LayoutError> {
        let current = self.partitions();
        if self.stage != Stage::Open {
            return Err(LayoutError::Growing { partitions: current });
        }
        if partitions > PARTITIONS_MAX {
            return Err(LayoutError::TooMany { given: partitions });
        }
        if partitions <= current {
            return Err(LayoutError::NotMore { current });
        }
        if self.later.len() + 1 >= GENERATIONS_MAX {
            return Err(LayoutError::TooManyGenerations);
        }
        let mut next = self.clone();
        next.later.push(partitions);
        next.stage = Stage::Announced;
        Ok(next)
    }

    /// The layout in the next stage; `None`: it is open.
    #[must_use]
    pub fn advanced(&self) -> Option<Self> {
        let stage = match self.stage {
            Stage::Announced => Stage::Closing,
            Stage::Closing => Stage::Open,
            Stage::Open => return None,
        };
        Some(Self { stage, ..self.clone() })
    }

    /// The partition of a conversation that can be in only one; `None`: it can be in several.
    #[must_use]
    pub fn only_candidate(&self, key: &ConversationKey) -> Option<Partition> {
        if self.later.is_empty() {
            return Some(self.oldest(key));
        }
        match self.candidates(key)[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The partitions in which a conversation may be, the oldest first: at least one, each once.
    #[must_use]
    pub fn candidates(&self, key: &ConversationKey) -> Vec<Partition> {
        let mut candidates = vec![self.oldest(key)];
        let mut previous = self.first;
        for partitions in &self.later {
            candidates.extend(added(key, previous, *partitions));
            previous = *partitions;
        }
        candidates
    }

    /// Where a conversation without commits is created.
    #[must_use]
    pub fn creation(&self, key: &ConversationKey) -> Creation {
        let mut others = self.candidates(key);
        let previous = self.later.iter().rev().nth(1).unwrap_or(&self.first);
        let is_closed = self.stage != Stage::Open;
        let unopened = others.pop_if(|partition| is_closed && partition.0 >= *previous);
        let home = others.pop().unwrap_or_else(|| self.oldest(key));
        match unopened {
            Some(partition) if self.stage == Stage::Closing => Creation { partition, close: Some(home), others },
            _ => Creation { partition: home, close: None, others },
        }
    }

    fn oldest(&self, key: &ConversationKey) -> Partition {
        Partition::of(&key.tenant, &key.conversation, self.first)
    }
}

/// The partition among those added by a generation, if it chooses one of them: with the same probability for every partition.
fn added(key: &ConversationKey, previous: u16, partitions: u16) -> Option<Partition> {
    let hash = hash_of(&key.tenant, &key.conversation).chain_update([0]).chain_update(partitions.to_be_bytes());
    let chosen = Partition::chosen(hash, partitions);
    (chosen.0 >= previous).then_some(chosen)
}

#[cfg(test)]
mod tests;
