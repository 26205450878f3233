//! The sequences that partitions are known to have reached.
//!
//! A stream never assigns a sequence again, so an acknowledgement of an earlier one is of another stream.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use domain::{Partition, Position, Sequence};

/// The largest known sequence of each partition.
#[derive(Debug, Default)]
pub(crate) struct KnownEnds(Mutex<BTreeMap<Partition, Sequence>>);

impl KnownEnds {
    /// The known end of a partition; 0: none.
    pub(crate) fn of(&self, partition: Partition) -> Sequence {
        self.with(|ends| ends.get(&partition).copied().unwrap_or_default())
    }

    /// A partition has reached a position.
    pub(crate) fn advance(&self, position: Position) {
        self.with(|ends| {
            let end = ends.entry(position.partition).or_default();
            *end = (*end).max(position.sequence);
        });
    }

    /// The known ends, by partition.
    pub(crate) fn all(&self) -> Vec<Position> {
        self.with(|ends| {
            let ends = ends.iter();
            ends.map(|(partition, sequence)| Position { partition: *partition, sequence: *sequence }).collect()
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<Partition, Sequence>) -> T) -> T {
        // Every change is complete at unlock, so a poisoned lock is safe to use.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_never_goes_back() {
        let ends = KnownEnds::default();
        let at =
            |partition: u16, sequence: u64| Position { partition: Partition(partition), sequence: Sequence(sequence) };
        assert_eq!(ends.of(Partition(1)), Sequence(0));
        for (sequence, expected) in [(5, 5), (3, 5), (9, 9)] {
            ends.advance(at(1, sequence));
            assert_eq!(ends.of(Partition(1)), Sequence(expected));
        }
        ends.advance(at(0, 2));
        assert_eq!(ends.all(), [at(0, 2), at(1, 9)]);
    }
}
