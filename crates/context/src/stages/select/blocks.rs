//! A beginning that moves in blocks, so that one break of the cache serves many turns.

use crate::unit::Unit;

/// Where a selection begins that ends at a bound, be it on messages or on what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// At the bound: it moves with every message.
    AtTheBound,
    /// At the edge of a block: it stands still for many messages, and up to half of them are left out for it.
    AtAnEdge,
}

impl Beginning {
    /// Leaves out of a selection that ended at a bound, oldest first, what stands before its beginning.
    pub(super) fn apply(self, units: &mut Vec<Unit>) {
        match self {
            Self::AtTheBound => {}
            Self::AtAnEdge => begin_at_an_edge(units),
        }
    }
}

/// Leaves out the oldest units up to a block's edge: a multiple of a power of two of versions that is at most half of those
/// that the units span. Where the span hardly changes, the beginning stands still for a block at a time.
fn begin_at_an_edge(units: &mut Vec<Unit>) {
    let (Some(oldest), Some(newest)) = (units.first(), units.last()) else {
        return;
    };
    let span = newest.version.0 - oldest.version.0 + 1;
    let block = (span / 2).checked_ilog2().map_or(1, |power| 1 << power);
    let edge = oldest.version.0.next_multiple_of(block);
    units.retain(|unit| unit.version.0 >= edge);
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
        begin_at_an_edge(&mut units);
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
