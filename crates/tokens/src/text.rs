//! Token counts of texts.

use std::cell::RefCell;

use crate::piece_cache::PieceCache;
use crate::vocabulary::vocabulary;

/// Loads the vocabulary if it is not loaded. That takes about 120 ms of one core, and 30 MiB of memory until the process ends.
pub fn load() {
    vocabulary();
}

/// The tokens of a text in `o200k_base`. The names of control tokens count as plain text.
///
/// About 33 MB/s for prose, and 4 MB/s where no word repeats, however long the words are (the suite `tokens` of the benchmark). A word of over
/// 2,048 bytes may have a token or two more for each 2,048 bytes than the vocabulary gives it. The first call [loads](load) the vocabulary.
#[must_use]
pub fn count_text(text: &str) -> u32 {
    thread_local! {
        static CACHE: RefCell<PieceCache> = RefCell::default();
    }
    let vocabulary = vocabulary();
    let tokens: usize = CACHE.with_borrow_mut(|cache| {
        let count = |piece| cache.count(piece, || vocabulary.count_piece(piece));
        vocabulary.pieces(text).map(count).sum()
    });
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::vocabulary::SLICE_BYTES;

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

    /// Equal up to a slice; then within two tokens for each slice.
    #[test]
    fn long_pieces_are_counted_by_the_slice() {
        assert_eq!(SLICE_BYTES, 2_048);
        for signs in
            ["-", "=", " ", "\n", "\t", "a", "é", "\0", "donaudampfschifffahrt", "你好世界", "!?", "👩\u{200d}"]
        {
            for bytes in [127, 128, 129, 2_047, 2_048, 2_049, 4_096, 20_000] {
                let piece = signs.repeat(bytes / signs.len());
                let slices = u32::try_from((piece.len() - 1) / SLICE_BYTES).unwrap();
                let pieces: Vec<&str> = vocabulary().pieces(&piece).collect();
                assert_eq!(pieces, [piece.as_str()]);
                let whole = library_count(&piece);
                let counted = count_text(&piece);
                assert!((whole..=whole + 2 * slices).contains(&counted), "{signs:?} {bytes}: {counted} for {whole}");
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
            ("dashes between letters", ("-".repeat(127) + "x").repeat(BYTES / 128)),
            ("spaces between letters", (" ".repeat(127) + "x").repeat(BYTES / 128)),
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
