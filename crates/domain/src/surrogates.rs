//! Halves of surrogate pairs in JSON: `"\ud83d"` alone is no character. Programs that cut texts by UTF-16 units make them; providers and
//! parsers reject them. Each becomes U+FFFD, in as many bytes.

use std::borrow::Cow;

/// U+FFFD as an escape.
const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// The JSON with U+FFFD instead of each escaped half of a surrogate pair. Other bytes do not change.
#[must_use]
pub fn without_unpaired(json: &[u8]) -> Cow<'_, [u8]> {
    if next_unpaired(json, 0).is_none() {
        return Cow::Borrowed(json);
    }
    let mut json = json.to_vec();
    replace_unpaired(&mut json);
    Cow::Owned(json)
}

/// Replaces each escaped half of a surrogate pair by U+FFFD. Returns their number.
pub fn replace_unpaired(json: &mut [u8]) -> usize {
    let (mut from, mut count) = (0, 0);
    while let Some(at) = next_unpaired(json, from) {
        from = at + REPLACEMENT.len();
        if let Some(escape) = json.get_mut(at..from) {
            escape.copy_from_slice(REPLACEMENT);
        }
        count += 1;
    }
    count
}

/// The position of the next escaped half of a pair; `from` is not inside of an escape.
fn next_unpaired(json: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let rest = json.get(from..)?;
        let at = from + rest.iter().position(|byte| *byte == b'\\')?;
        from = match unit_at(json, at) {
            Some(0xD800..=0xDBFF) => match unit_at(json, at + 6) {
                Some(0xDC00..=0xDFFF) => at + 12,
                _ => return Some(at),
            },
            Some(0xDC00..=0xDFFF) => return Some(at),
            Some(_) => at + 6,
            None => at + 2,
        };
    }
}

/// The UTF-16 unit of the escape at this position.
fn unit_at(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..)?.strip_prefix(b"\\u")?.get(..4)?;
    let digits =
        std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
    u16::from_str_radix(digits?, 16).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(json: &str, expected: &str) {
        assert_eq!(String::from_utf8_lossy(&without_unpaired(json.as_bytes())), expected, "{json}");
    }

    #[test]
    fn halves_are_replaced_and_pairs_remain() {
        check(r#""plain""#, r#""plain""#);
        check(r#""\ud83d\ude00""#, r#""\ud83d\ude00""#);
        check(r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#);
        check(r#""\ud83d""#, r#""\ufffd""#);
        check(r#""\ude00""#, r#""\ufffd""#);
        check(r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\ud83d \ude00""#, r#""\ufffd \ufffd""#);
        check(r#""\ud83d\n""#, r#""\ufffd\n""#);
        check(r#"{"\uDFFF": ["\u0041\ud800"]}"#, r#"{"\ufffd": ["\u0041\ufffd"]}"#);
        // An escaped backslash escapes nothing.
        check(r#""\\ud83d""#, r#""\\ud83d""#);
        check(r#""\\\ud83d""#, r#""\\\ufffd""#);
        // What is no JSON stays as it is.
        check(r#""\ud8"#, r#""\ud8"#);
        check(r#""\u+83d""#, r#""\u+83d""#);
        check("\\", "\\");
    }

    proptest! {
        #[test]
        fn every_string_can_be_read(units in prop::collection::vec(prop_oneof![
            Just("\\ud83d"), Just("\\ude00"), Just("\\uD800"), Just("\\udfff"), Just("\\\\"), Just("\\n"), Just("u"), Just("é"), Just("\\u00e9"),
        ], 0..12)) {
            let json = format!("\"{}\"", units.concat());
            let repaired = without_unpaired(json.as_bytes());
            prop_assert_eq!(repaired.len(), json.len());
            prop_assert!(serde_json::from_slice::<String>(&repaired).is_ok(), "{}", String::from_utf8_lossy(&repaired));
            prop_assert!(matches!(without_unpaired(&repaired), Cow::Borrowed(_)));
            if serde_json::from_str::<String>(&json).is_ok() {
                prop_assert_eq!(&*repaired, json.as_bytes());
            }
        }
    }
}
