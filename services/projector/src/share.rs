//! How partitions are shared among projectors. Pure.

use domain::Partition;

/// What a projector should do to come to its share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Move {
    /// It has its share, or nothing is free.
    Stay,
    /// Take the first so many of the free ones that it can get.
    Take(usize),
    /// Give so many back.
    GiveBack(usize),
}

/// A share is the partitions divided by the projectors, rounded up: so nothing is left over, and a new projector waits for
/// others only until each has come down to it.
pub(crate) fn next_move(held: usize, partitions: u16, projectors: usize, free: &[Partition]) -> Move {
    let share = usize::from(partitions).div_ceil(projectors.max(1));
    if held > share {
        return Move::GiveBack(held - share);
    }
    match (share - held).min(free.len()) {
        0 => Move::Stay,
        count => Move::Take(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares() {
        let check = |held, projectors, free: u16, expected| {
            let free: Vec<Partition> = (0..free).map(Partition).collect();
            assert_eq!(next_move(held, 8, projectors, &free), expected);
        };
        check(0, 1, 8, Move::Take(8));
        check(8, 1, 0, Move::Stay);
        check(5, 1, 3, Move::Take(3));
        check(8, 2, 0, Move::GiveBack(4));
        check(4, 2, 0, Move::Stay);
        check(0, 2, 0, Move::Stay);
        check(0, 2, 8, Move::Take(4));
        check(3, 3, 2, Move::Stay);
        check(2, 3, 2, Move::Take(1));
        check(4, 3, 0, Move::GiveBack(1));
        check(1, 20, 0, Move::Stay);
        check(2, 20, 0, Move::GiveBack(1));
        check(0, 0, 8, Move::Take(8));
    }
}
