//! Byte-pair encoding: neighbours of a text are merged into tokens, in the order of the tokens' ranks.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The end of a token that was merged into the one before it.
const MERGED: usize = usize::MAX;

/// The tokens of a piece. Every byte is a token at first; then the neighbours whose union has the lowest rank become one
/// token, the leftmost of equal ones first, until no union of neighbours is a token. Takes O(n log n) for n bytes.
pub(crate) fn count_merged(piece: &[u8], rank: impl Fn(&[u8]) -> Option<u32>) -> usize {
    let mut merge = Merge {
        piece,
        rank,
        ends: (1..=piece.len()).collect(),
        previous: (0..piece.len()).map(|start| start.checked_sub(1)).collect(),
        unions: BinaryHeap::new(),
    };
    for start in 0..piece.len() {
        merge.consider(Some(start));
    }
    let mut tokens = piece.len();
    while let Some(Reverse((_, start, end))) = merge.unions.pop() {
        if merge.union_end(start) == Some(end) {
            merge.unite(start, end);
            tokens -= 1;
        }
    }
    tokens
}

struct Merge<'a, R> {
    piece: &'a [u8],
    rank: R,
    /// By the start of a token: its end, which is the start of the next one.
    ends: Vec<usize>,
    /// By the start of a token: the start of the one before it.
    previous: Vec<Option<usize>>,
    /// Unions of neighbours, the lowest rank first: rank, start, end. They may be outdated.
    unions: BinaryHeap<Reverse<(u32, usize, usize)>>,
}

impl<R: Fn(&[u8]) -> Option<u32>> Merge<'_, R> {
    /// The end of the union of a token and the next one; `None`: no token starts there, or it is the last.
    fn union_end(&self, start: usize) -> Option<usize> {
        let middle = *self.ends.get(start)?;
        self.ends.get(middle).copied()
    }

    /// Notes the union of a token and the next one, if it is a token.
    fn consider(&mut self, start: Option<usize>) -> Option<()> {
        let start = start?;
        let end = self.union_end(start)?;
        let rank = (self.rank)(self.piece.get(start..end)?)?;
        self.unions.push(Reverse((rank, start, end)));
        Some(())
    }

    fn unite(&mut self, start: usize, end: usize) {
        if let Some(middle) = self.ends.get_mut(start).map(|own| std::mem::replace(own, end))
            && let Some(merged) = self.ends.get_mut(middle)
        {
            *merged = MERGED;
        }
        if let Some(previous) = self.previous.get_mut(end) {
            *previous = Some(start);
        }
        self.consider(Some(start));
        self.consider(self.previous.get(start).copied().flatten());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rank_is_merged_first_and_the_leftmost_of_equal_ones() {
        let ranks = ["bc", "ab", "cd", "abcd", "aa", "aaa", "dbc"];
        let rank = |bytes: &[u8]| {
            let place = ranks.iter().position(|token| token.as_bytes() == bytes)?;
            u32::try_from(place).ok()
        };
        for (piece, expected) in [
            ("", 0),
            ("a", 1),
            ("xy", 2),
            ("ab", 1),
            // a, bc: `ab` has the higher rank.
            ("abc", 2),
            // a, bc, d: no union is a token, though the whole is one.
            ("abcd", 3),
            ("abxcd", 3),
            // aa, a; then aaa.
            ("aaa", 1),
            // aa, aa: `aaa` has the higher rank, and `aa` starts at the left.
            ("aaaa", 2),
            ("aaaaa", 2),
            // d, bc; then dbc.
            ("dbc", 1),
        ] {
            assert_eq!(count_merged(piece.as_bytes(), rank), expected, "{piece:?}");
        }
    }
}
