//! The vocabulary `o200k_base`: how it splits a text into pieces, and the tokens of a piece.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::FixedState;
use regex_automata::meta::Regex;
use regex_automata::{Anchored, Input, PatternID};

use crate::merge::count_merged;

/// The pieces of a text, first match first: words, up to three digits, signs, line breaks, blanks at the end.
const PIECE: &str = concat!(
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"|\p{N}{1,3}",
    r"| ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r"|\s*[\r\n]+",
    r"|\s+$",
);
/// Blanks before a word, which has the last of them. The vocabulary has a look-ahead here; a linear matcher has none.
const BLANKS: &str = r"\s+\s";
/// One blank before a sign that does not include it.
const BLANK: &str = r"\s+";
/// The place of [`BLANKS`] among the patterns.
const BLANKS_ID: PatternID = PatternID::new_unchecked(1);

/// A longer piece, such as a word or dashes without a blank, is counted in slices of this many bytes. Merging it whole takes several times
/// longer than as many short words, and a caller could make us spend that time. A slice adds at most two tokens. A multiple of the longest
/// token, which has 128 bytes.
pub(crate) const SLICE_BYTES: usize = 2_048;

/// The ranks of the tokens, and the patterns of the pieces.
///
/// The library that bundles the ranks finds the same pieces and tokens, but is slower than 1 MB/s for random signs: its
/// matcher starts anywhere, so its automaton has too many states.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    ranks: HashMap<&'static [u8], u32, FixedState>,
    patterns: Regex,
}

/// The one vocabulary, loaded by the first call.
pub(crate) fn vocabulary() -> &'static Vocabulary {
    static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(Vocabulary::load);
    &VOCABULARY
}

impl Vocabulary {
    #[expect(
        clippy::expect_used,
        reason = "the patterns are constants, the ranks are bundled, and the tests load both"
    )]
    fn load() -> Self {
        let bundled = tiktoken::get_encoding("o200k_base").expect("the bundled vocabulary");
        let tokens = (0_u32..).take(bundled.vocab_size());
        // They live as long as the process, like the vocabulary.
        let ranks = tokens.map(|rank| (&*bundled.decode(&[rank]).leak(), rank)).collect();
        Self { ranks, patterns: Regex::new_many(&[PIECE, BLANKS, BLANK]).expect("constant patterns") }
    }

    /// The pieces of a text, in order and without gaps.
    pub(crate) fn pieces<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a str> {
        let mut rest = text;
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at_checked(self.piece_bytes(rest)?)?;
            rest = after;
            Some(piece)
        })
    }

    /// The length of a text's first piece; `None` for an empty text.
    fn piece_bytes(&self, text: &str) -> Option<usize> {
        let found = self.patterns.find(Input::new(text).anchored(Anchored::Yes))?;
        if found.pattern() != BLANKS_ID {
            return Some(found.end());
        }
        let (blanks, _) = text.split_at_checked(found.end())?;
        let last = blanks.chars().next_back()?;
        Some(found.end() - last.len_utf8())
    }

    /// The tokens of one piece. One longer than [`SLICE_BYTES`] is counted in slices of this length.
    pub(crate) fn count_piece(&self, piece: &str) -> usize {
        piece.as_bytes().chunks(SLICE_BYTES).map(|slice| self.count_slice(slice)).sum()
    }

    fn count_slice(&self, slice: &[u8]) -> usize {
        if self.rank(slice).is_some() { 1 } else { count_merged(slice, |bytes| self.rank(bytes)) }
    }

    /// The rank of a token; `None` for bytes that are none.
    fn rank(&self, bytes: &[u8]) -> Option<u32> {
        self.ranks.get(bytes).copied()
    }
}
