//! Decodes JSON strings, and maps offsets of the decoded text to offsets of the encoded text.

use std::borrow::Cow;

/// A decoded JSON string.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// The text; an unpaired surrogate becomes U+FFFD.
    pub text: Cow<'a, str>,
    /// Where escapes end: offset in the text and offset in the encoded text, ascending.
    ends: Vec<(usize, usize)>,
}

impl Decoded<'_> {
    /// The offset in the encoded text of an offset of the text, which is that of a character.
    #[must_use]
    pub fn encoded_offset(&self, offset: usize) -> usize {
        let after = self.ends.partition_point(|(text, _)| *text <= offset);
        let last = after.checked_sub(1).and_then(|index| self.ends.get(index));
        let (text, encoded) = last.copied().unwrap_or_default();
        encoded + (offset - text)
    }
}

/// Decodes the inside of a JSON string, without its quotes. An invalid escape is copied without its backslash.
#[must_use]
pub fn decode(encoded: &str) -> Decoded<'_> {
    if !encoded.contains('\\') {
        return Decoded { text: Cow::Borrowed(encoded), ends: Vec::new() };
    }
    let (mut text, mut ends, mut at) = (String::with_capacity(encoded.len()), Vec::new(), 0);
    while let Some((plain, escape)) = encoded.get(at..).and_then(|rest| rest.split_once('\\')) {
        text.push_str(plain);
        let (character, length) = escaped(escape);
        text.push(character);
        at += plain.len() + 1 + length;
        ends.push((text.len(), at));
    }
    text.push_str(encoded.get(at..).unwrap_or_default());
    Decoded { text: Cow::Owned(text), ends }
}

/// The character of an escape without its backslash, and its length in bytes.
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
    fn invalid_escapes_lose_their_backslash() {
        check("\\", "\\");
        check(r"\u00", "u00");
        check(r"\é", "é");
    }

    #[test]
    fn offsets_lead_back() {
        let encoded = r"a\u0041b\ud83d\ude00c\nd";
        let decoded = decode(encoded);
        let encoded_parts: Vec<&str> = decoded
            .text
            .char_indices()
            .map(|(at, character)| {
                let end = decoded.encoded_offset(at + character.len_utf8());
                &encoded[decoded.encoded_offset(at)..end]
            })
            .collect();
        assert_eq!(encoded_parts, ["a", r"\u0041", "b", r"\ud83d\ude00", "c", r"\n", "d"]);
    }

    fn check(encoded: &str, expected: &str) {
        assert_eq!(decode(encoded).text, expected);
    }
}
