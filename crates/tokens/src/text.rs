//! Token counts of texts.

use std::cell::RefCell;

use crate::piece_cache::PieceCache;
use crate::vocabulary::vocabulary;

/// Loads the vocabulary if it is not loaded. That takes about 120 ms of one core, and 30 MiB of memory until the process ends.
pub fn load() {
    vocabulary();
}

/// A run of this many equal bytes or more is counted in slices of this length. A long run, such as dashes, is one piece,
/// which takes many times longer than prose. No token is longer.
const RUN_BYTES: usize = 128;

/// The tokens of a text in `o200k_base`. The names of control tokens count as plain text.
///
/// About 50 MB/s for prose, and 5 MB/s where no word repeats. A piece of n bytes takes O(n log n): random letters without a
/// blank, as long as the largest event, are counted at about 1 MB/s. The first call [loads](load) the vocabulary.
#[must_use]
pub fn count_text(text: &str) -> u32 {
    let mut tokens = 0;
    let mut rest = text;
    while let Some((before, run, after)) = split_at_run(rest) {
        tokens += count_pieces(before) + count_run(run);
        rest = after;
    }
    u32::try_from(tokens + count_pieces(rest)).unwrap_or(u32::MAX)
}

/// The tokens of a text: the sum of its pieces (words, numbers, signs), which the vocabulary encodes one by one.
fn count_pieces(text: &str) -> usize {
    thread_local! {
        static CACHE: RefCell<PieceCache> = RefCell::default();
    }
    let vocabulary = vocabulary();
    CACHE.with_borrow_mut(|cache| {
        let count = |piece| cache.count(piece, || vocabulary.count_piece(piece));
        vocabulary.pieces(text).map(count).sum()
    })
}

/// The text before the first long run of one byte, the run, and the text after it.
fn split_at_run(text: &str) -> Option<(&str, &str, &str)> {
    if text.len() < RUN_BYTES {
        return None;
    }
    let mut start = 0;
    for run in text.as_bytes().chunk_by(|one, next| one == next) {
        if run.len() >= RUN_BYTES {
            // A character of several bytes has no such run.
            let (before, from) = text.split_at_checked(start)?;
            let (run, after) = from.split_at_checked(run.len())?;
            return Some((before, run, after));
        }
        start += run.len();
    }
    None
}

fn count_run(run: &str) -> usize {
    let (slices, left) = (run.len() / RUN_BYTES, run.len() % RUN_BYTES);
    let count = |bytes| {
        let (part, _) = run.split_at_checked(bytes).unwrap_or((run, ""));
        vocabulary().count(part)
    };
    slices * count(RUN_BYTES) + count(left)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Cached pieces have the library's count, in every order of texts.
    #[test]
    fn texts_are_counted_as_the_library_counts_them() {
        let mut letters = noise(40_000, ascii);
        letters.push_str(&noise(20_000, sign));
        letters.push_str(&noise(2_000, letter));
        let words = "The words of a text repeat, and so do its numbers: 12 345, 12 345.\n";
        for text in [letters.as_str(), words, letters.as_str(), words, "\u{2019}s ", ""] {
            let expected = library_count(text);
            assert_eq!(count_text(text), expected);
        }
    }

    #[test]
    fn texts_are_counted_as_the_vocabulary_has_them() {
        for (text, expected) in [
            ("", 0),
            ("hello world", 2),
            ("Hello, world!", 4),
            ("antidisestablishmentarianism", 6),
            ("你好，世界", 3),
            ("\u{0}\u{0}", 1),
            ("<|endoftext|>", 7),
        ] {
            assert_eq!(count_text(text), expected, "{text:?}");
        }
    }

    /// Equal to the library's count of the whole text, within one token, and within 1% for digits, which take a token per three.
    #[test]
    fn long_runs_are_counted_by_a_slice() {
        for sign in ["-", "=", " ", "\n", "\t", "a", "0", "é", "\0"] {
            for bytes in [RUN_BYTES - 1, RUN_BYTES, RUN_BYTES + 1, 1_000, 4_096] {
                let run = sign.repeat(bytes / sign.len());
                for text in [run.clone(), format!("a{run} word {run}")] {
                    let whole = library_count(&text);
                    let counted = count_text(&text);
                    let expected = whole - 1..=whole + 2 + whole / 100;
                    assert!(expected.contains(&counted), "{sign:?} {bytes}: {counted} for {whole}");
                }
            }
        }
    }

    /// The largest event of one sign, of blanks, or of noise is counted within seconds, also without optimisation on a busy
    /// machine.
    #[test]
    fn the_worst_texts_are_counted_in_time() {
        const BYTES: usize = domain::bounds::EVENT_BYTES_MAX;
        load();
        let noise = |signs: fn(u64) -> char| noise(BYTES, signs);
        let blank = |number: u64| if number.is_multiple_of(2) { ' ' } else { '\n' };
        for (case, text) in [
            ("a letter", "a".repeat(BYTES)),
            ("dashes", "-".repeat(BYTES)),
            ("dashes up to a run", ("-".repeat(RUN_BYTES - 1) + "x").repeat(BYTES / RUN_BYTES)),
            ("spaces up to a run", (" ".repeat(RUN_BYTES - 1) + "x").repeat(BYTES / RUN_BYTES)),
            ("equals signs", "=".repeat(BYTES)),
            ("U+0000", "\0".repeat(BYTES)),
            ("spaces", " ".repeat(BYTES)),
            ("spaces before a letter", " ".repeat(BYTES - 1) + "x"),
            ("line breaks", "\n".repeat(BYTES)),
            ("blanks of both kinds", noise(blank)),
            ("random ASCII", noise(ascii)),
            ("random letters", noise(letter)),
            ("random signs", noise(sign)),
            ("emoji joined", "👩\u{200d}".repeat(BYTES / 7)),
        ] {
            let started = Instant::now();
            let tokens = count_text(&text);
            let elapsed = started.elapsed();
            assert!(elapsed < Duration::from_secs(5), "{case}: {elapsed:?}");
            assert!(tokens > 0, "{case}");
        }
    }

    /// The library splits and merges by itself.
    fn library_count(text: &str) -> u32 {
        let library = tiktoken::get_encoding("o200k_base").unwrap();
        u32::try_from(library.count(text)).unwrap()
    }

    fn ascii(number: u64) -> char {
        char::from(u8::try_from(number % 128).unwrap())
    }

    fn letter(number: u64) -> char {
        char::from(b'a' + u8::try_from(number % 26).unwrap())
    }

    fn sign(number: u64) -> char {
        u32::try_from(number % 0x11_0000).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
    }

    /// Signs by a fixed sequence of numbers (xorshift), up to so many bytes.
    fn noise(bytes: usize, sign: impl Fn(u64) -> char) -> String {
        let mut state = 88_172_645_463_325_252_u64;
        let mut text = String::new();
        while text.len() < bytes {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            text.push(sign(state >> 16));
        }
        text
    }
}
