//! A beginning that moves in blocks, so that many successive contexts share their prefix.

use crate::unit::Unit;

/// Where a truncated selection begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// At the bound: the beginning moves with every message.
    AtBound,
    /// At the edge of a block: the beginning stays the same for many messages; up to half of the selected ones are omitted for it.
    AtBlockEdge,
}

impl Start {
    /// Takes the units before the beginning out of a truncated selection, oldest first, and returns them.
    pub(super) fn apply(self, units: &mut Vec<Unit>) -> Vec<Unit> {
        match self {
            Self::AtBound => Vec::new(),
            Self::AtBlockEdge => start_at_block_edge(units),
        }
    }
}

/// Takes out the oldest units up to a block's edge. A block is the largest power of two of versions that is at most half of the
/// versions that the units span. As long as the span hardly changes, the beginning moves by a block at a time.
fn start_at_block_edge(units: &mut Vec<Unit>) -> Vec<Unit> {
    let (Some(oldest), Some(newest)) = (units.first(), units.last()) else {
        return Vec::new();
    };
    let span = newest.version.0 - oldest.version.0 + 1;
    let block = (span / 2).checked_ilog2().map_or(1, |power| 1 << power);
    let edge = oldest.version.0.next_multiple_of(block);
    let kept = units.split_off(units.partition_point(|unit| unit.version.0 < edge));
    std::mem::replace(units, kept)
}

#[cfg(test)]
mod tests {
    use domain::{EventTokens, Version};

    use super::*;

    /// One unit a version.
    fn check(given: std::ops::RangeInclusive<u64>, first: u64) {
        let unit = |version| Unit {
            version: Version(version),
            message: None,
            tokens: EventTokens::default(),
            calls: Vec::new(),
        };
        let last = *given.end();
        let mut units: Vec<Unit> = given.map(unit).collect();
        start_at_block_edge(&mut units);
        let kept: Vec<u64> = units.iter().map(|unit| unit.version.0).collect();
        assert_eq!(kept, (first..=last).collect::<Vec<_>>());
    }

    #[test]
    fn the_beginning_moves_a_block_at_a_time() {
        check(1..=2_000, 512);
        check(512..=2_511, 512);
        check(513..=2_512, 1_024);
        check(1_024..=3_023, 1_024);
        check(1_025..=3_024, 1_536);
    }

    #[test]
    fn at_least_half_is_left() {
        check(7..=7, 7);
        check(7..=8, 7);
        check(7..=9, 7);
        check(7..=10, 8);
        check(9..=16, 12);
    }
}
