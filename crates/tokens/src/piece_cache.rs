//! A cache of the token counts of short pieces of text. Most words of a text occur often, and counting one that is not a
//! token costs three allocations.

use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;

/// Entries of one cache: 64 KiB.
const ENTRIES: usize = 4_096;
/// Maximum bytes of a cached piece.
const PIECE_BYTES_MAX: usize = 14;

/// A cache with one place for each hash; a later piece replaces an earlier one.
#[derive(Debug, Default)]
pub(crate) struct PieceCache {
    /// Empty until the first piece.
    entries: Vec<Entry>,
}

/// A piece and its count; a count of 0 is an empty place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entry {
    piece: [u8; PIECE_BYTES_MAX],
    bytes: u8,
    tokens: u8,
}

impl PieceCache {
    /// The cached count of a piece, else that of `count`.
    pub(crate) fn count(&mut self, piece: &str, count: impl FnOnce() -> usize) -> usize {
        let Some(key) = Entry::of(piece.as_bytes()) else {
            return count();
        };
        self.entries.resize(ENTRIES, Entry::default());
        let hash = usize::try_from(FixedState::default().hash_one(key.piece) & 0xffff_ffff);
        let place = hash.unwrap_or_default() % ENTRIES;
        let Some(entry) = self.entries.get_mut(place) else {
            return count();
        };
        if entry.tokens == 0 || (entry.piece, entry.bytes) != (key.piece, key.bytes) {
            let tokens = count();
            let Ok(cached) = u8::try_from(tokens) else {
                return tokens;
            };
            *entry = Entry { tokens: cached, ..key };
        }
        usize::from(entry.tokens)
    }
}

impl Entry {
    /// An entry without its count; `None`: the piece is too long.
    fn of(bytes: &[u8]) -> Option<Self> {
        let mut piece = [0; PIECE_BYTES_MAX];
        piece.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self { piece, bytes: u8::try_from(bytes.len()).ok()?, tokens: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_pieces_are_counted_once() {
        let mut cache = PieceCache::default();
        let longest = "x".repeat(PIECE_BYTES_MAX);
        for (piece, counted) in [
            ("a", true),
            ("a", false),
            // It has the place of `a`.
            ("a\0", true),
            ("a", true),
            (longest.as_str(), true),
            (longest.as_str(), false),
            (&"x".repeat(PIECE_BYTES_MAX + 1), true),
            (&"x".repeat(PIECE_BYTES_MAX + 1), true),
        ] {
            let mut is_counted = false;
            let tokens = cache.count(piece, || {
                is_counted = true;
                piece.len()
            });
            assert_eq!((tokens, is_counted), (piece.len(), counted), "{piece:?}");
        }
    }
}
