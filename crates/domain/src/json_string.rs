//! JSON strings as they are written: what they say, and where in the text each of it stands.

use std::borrow::Cow;

/// What the inside of a JSON string says.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text; half of a surrogate pair stands as U+FFFD.
    pub text: Cow<'a, str>,
    /// Where escapes end: offset in the text, offset in what is written; both rise.
    ends: Vec<(usize, usize)>,
}

impl Decoded<'_> {
    /// Where in what is written an offset of the text stands; the offset is one of a character.
    #[must_use]
    pub fn written_at(&self, offset: usize) -> usize {
        let after = self.ends.partition_point(|(text, _)| *text <= offset);
        let last = after.checked_sub(1).and_then(|index| self.ends.get(index));
        let (text, written) = last.copied().unwrap_or_default();
        written + (offset - text)
    }
}

/// Reads the inside of a JSON string, without its quotes. What is no escape is taken as it stands.
#[must_use]
pub fn decode(written: &str) -> Decoded<'_> {
    if !written.contains('\\') {
        return Decoded {
            text: Cow::Borrowed(written),
            ends: Vec::new(),
        };
    }
    let (mut text, mut ends, mut at) = (String::with_capacity(written.len()), Vec::new(), 0);
    while let Some((plain, escape)) = written.get(at..).and_then(|rest| rest.split_once('\\')) {
        text.push_str(plain);
        let (character, length) = escaped(escape);
        text.push(character);
        at += plain.len() + 1 + length;
        ends.push((text.len(), at));
    }
    text.push_str(written.get(at..).unwrap_or_default());
    Decoded {
        text: Cow::Owned(text),
        ends,
    }
}

/// The character of an escape whose backslash is gone, and how many bytes it takes.
fn escaped(escape: &str) -> (char, usize) {
    let character = match escape.bytes().next() {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return escaped_code(escape),
        _ => {
            let literal = escape.chars().next();
            return literal.map_or(('\\', 0), |literal| (literal, literal.len_utf8()));
        }
    };
    (character, 1)
}

fn escaped_code(escape: &str) -> (char, usize) {
    let Some(first) = code_unit(escape) else {
        return ('u', 1);
    };
    if let Some(character) = char::from_u32(first) {
        return (character, 5);
    }
    let second = escape
        .get(5..)
        .and_then(|rest| rest.strip_prefix('\\'))
        .filter(|rest| rest.starts_with('u'))
        .and_then(code_unit);
    match second {
        Some(second @ 0xDC00..=0xDFFF) if first < 0xDC00 => {
            let code = 0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            let character = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
            (character, 11)
        }
        _ => (char::REPLACEMENT_CHARACTER, 5),
    }
}

fn code_unit(escape: &str) -> Option<u32> {
    u32::from_str_radix(escape.get(1..5)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        check("plain é", "plain é");
        check(r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r"\u0000\u00e9\ud83d\ude00!", "\0é😀!");
        check(r"\ud83d", "\u{fffd}");
        check(r"\ud83d\u0041", "\u{fffd}A");
        check(r"\ude00\ud83d", "\u{fffd}\u{fffd}");
    }

    #[test]
    fn what_is_no_escape_is_taken_as_it_stands() {
        check("\\", "\\");
        check(r"\u00", "u00");
        check(r"\é", "é");
    }

    #[test]
    fn offsets_lead_back() {
        let written = r"a\u0041b\ud83d\ude00c\nd";
        let decoded = decode(written);
        let told: Vec<&str> = decoded
            .text
            .char_indices()
            .map(|(at, character)| {
                let end = decoded.written_at(at + character.len_utf8());
                &written[decoded.written_at(at)..end]
            })
            .collect();
        assert_eq!(
            told,
            ["a", r"\u0041", "b", r"\ud83d\ude00", "c", r"\n", "d"]
        );
    }

    fn check(written: &str, expected: &str) {
        assert_eq!(decode(written).text, expected);
    }
}
