//! Splits a text into tokens, for indexing, for queries and for matches alike.
//!
//! A word is a sequence of letters and digits. Scripts that are written without spaces between words (Chinese, Japanese, Korean,
//! Thai, Lao, Khmer, Burmese) have no words without a dictionary: each of their characters is a token of its own. Tokens are
//! compared in a normal form: lower case, compatibility forms unified (NFKC), accents and vowel points removed.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// A token of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token<'t> {
    /// Its first byte in the text.
    pub start: usize,
    /// The byte after it.
    pub end: usize,
    /// Its normal form; never empty.
    pub form: Cow<'t, str>,
    /// Whether it is a word or a character.
    pub kind: TokenKind,
}

impl Token<'_> {
    /// The token without its text.
    #[must_use]
    pub fn into_owned(self) -> Token<'static> {
        Token { form: Cow::Owned(self.form.into_owned()), start: self.start, end: self.end, kind: self.kind }
    }
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A word.
    Word,
    /// A character of a script without spaces.
    Character,
}

/// Characters of scripts without spaces between words.
const WITHOUT_SPACES: [RangeInclusive<char>; 16] = [
    '\u{0E00}'..='\u{0EFF}',   // Thai, Lao
    '\u{1000}'..='\u{109F}',   // Burmese
    '\u{1100}'..='\u{11FF}',   // Hangul letters
    '\u{1780}'..='\u{17FF}',   // Khmer
    '\u{2E80}'..='\u{2FDF}',   // CJK radicals
    '\u{3005}'..='\u{3007}',   // 々, 〆, 〇
    '\u{3040}'..='\u{312F}',   // Hiragana, Katakana, Bopomofo
    '\u{3130}'..='\u{318F}',   // Hangul letters
    '\u{31A0}'..='\u{31FF}',   // Bopomofo, Katakana
    '\u{3400}'..='\u{4DBF}',   // CJK ideographs
    '\u{4E00}'..='\u{9FFF}',   // CJK ideographs
    '\u{AC00}'..='\u{D7FF}',   // Hangul syllables
    '\u{F900}'..='\u{FAFF}',   // CJK compatibility ideographs
    '\u{FF66}'..='\u{FFDC}',   // half-width Katakana and Hangul
    '\u{1B000}'..='\u{1B16F}', // more Kana
    '\u{20000}'..='\u{3FFFF}', // more CJK ideographs
];

/// Marks that writers omit: accents, Hebrew and Arabic vowel points.
const OMITTED: [RangeInclusive<char>; 4] =
    ['\u{0300}'..='\u{036F}', '\u{0591}'..='\u{05C7}', '\u{064B}'..='\u{065F}', '\u{0670}'..='\u{0670}'];
/// Stretches Arabic letters, without a meaning of its own.
const TATWEEL: char = '\u{0640}';
/// Half-width voicing marks, which belong to the character before them.
const HALF_WIDTH_MARKS: RangeInclusive<char> = '\u{FF9E}'..='\u{FF9F}';

/// What a character does to the tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Kind(TokenKind),
    /// It belongs to the token before it.
    Mark,
    Separator,
}

/// The tokens of a text, in order. They do not overlap.
pub fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        loop {
            let Span { begin, end, kind } = next_span(text, start)?;
            start = end;
            let form = normal_form(text.get(begin..end)?);
            if !form.is_empty() {
                return Some(Token { start: begin, end, form, kind });
            }
        }
    })
}

/// The bytes of a token.
#[derive(Debug, PartialEq)]
struct Span {
    /// The first byte.
    begin: usize,
    /// The byte after the last one.
    end: usize,
    kind: TokenKind,
}

/// The next token at `from` or after it.
fn next_span(text: &str, from: usize) -> Option<Span> {
    let bytes = text.as_bytes().get(from..)?;
    let begins = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let begin = bytes.iter().position(begins)?;
    let word = bytes.get(begin..)?;
    let ends = |byte: &u8| !byte.is_ascii_alphanumeric();
    let length = word.iter().position(ends).unwrap_or(word.len());
    match word.get(length) {
        // The next character may belong to the word.
        Some(next) if !next.is_ascii() => next_span_of_signs(text, from + begin),
        _ => Some(Span { begin: from + begin, end: from + begin + length, kind: TokenKind::Word }),
    }
}

/// As [`next_span`], for texts with other characters than those of ASCII.
fn next_span_of_signs(text: &str, from: usize) -> Option<Span> {
    let mut signs = text.get(from..)?.char_indices();
    let (begin, kind) = signs.find_map(|(at, sign)| match class(sign) {
        Class::Kind(kind) => Some((from + at, kind)),
        Class::Mark | Class::Separator => None,
    })?;
    let rest = signs.find(|(_, sign)| match class(*sign) {
        Class::Mark => false,
        Class::Kind(next) => kind == TokenKind::Character || next != kind,
        Class::Separator => true,
    });
    Some(Span { begin, end: rest.map_or(text.len(), |(at, _)| from + at), kind })
}

fn class(sign: char) -> Class {
    if sign.is_ascii_alphanumeric() {
        return Class::Kind(TokenKind::Word);
    }
    if sign.is_ascii() {
        return Class::Separator;
    }
    if is_combining_mark(sign) || HALF_WIDTH_MARKS.contains(&sign) || sign == TATWEEL {
        return Class::Mark;
    }
    match (sign.is_alphanumeric(), is_without_spaces(sign)) {
        (true, true) => Class::Kind(TokenKind::Character),
        (true, false) => Class::Kind(TokenKind::Word),
        (false, _) => Class::Separator,
    }
}

fn is_without_spaces(sign: char) -> bool {
    WITHOUT_SPACES.iter().any(|range| range.contains(&sign))
}

/// The form in which tokens are compared.
fn normal_form(token: &str) -> Cow<'_, str> {
    if token.is_ascii() {
        if token.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(token.to_ascii_lowercase());
        }
        return Cow::Borrowed(token);
    }
    let is_kept = |sign: &char| *sign != TATWEEL && !OMITTED.iter().any(|range| range.contains(sign));
    let form: String = token.to_lowercase().nfkd().filter(is_kept).nfc().collect();
    Cow::Owned(form.replace('ß', "ss"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forms(text: &str) -> Vec<String> {
        tokens(text).map(|token| token.form.into_owned()).collect()
    }

    #[test]
    fn texts_are_split_and_normalised() {
        let check = |text: &str, expected: &[&str]| assert_eq!(forms(text), expected, "{text}");
        check("", &[]);
        check(" ,.-\u{301}", &[]);
        check("Where's my PARCEL?", &["where", "s", "my", "parcel"]);
        check("get_weather(berlin-42)", &["get", "weather", "berlin", "42"]);
        check("Crème brûlée, Straße", &["creme", "brulee", "strasse"]);
        check("cafe\u{301} ﬁn ＡＢＣ", &["cafe", "fin", "abc"]);
        // Arabic: with the article, with vowel points, stretched, and with a hamza.
        check("كِتَاب كتـــاب أحمد", &["كتاب", "كتاب", "احمد"]);
        check("Привет, мир", &["привет", "мир"]);
        check("नमस्ते", &["नमस्ते"]);
        check("你好，world世界", &["你", "好", "world", "世", "界"]);
        check("ｶﾞｶ が", &["ガ", "カ", "が"]);
        check("한국어", &["한", "국", "어"]);
        check("น้ำแข็ง", &["น\u{e49}", "\u{e4d}า", "แ", "ข\u{e47}", "ง"]);
    }

    proptest! {
        #[test]
        fn tokens_are_ordered_parts_of_the_text(text in "\\PC{0,200}") {
            let mut end = 0;
            for token in tokens(&text) {
                prop_assert!(end <= token.start && token.start < token.end);
                prop_assert!(text.get(token.start..token.end).is_some());
                prop_assert!(!token.form.is_empty());
                end = token.end;
            }
            prop_assert!(end <= text.len());
        }

        /// Words of ASCII are found by bytes, as they are by characters.
        #[test]
        fn spans_of_bytes_are_those_of_characters(text in "[ -~éüß裹ｶﾞ\u{301}\u{640}]{0,60}") {
            for (from, _) in text.char_indices() {
                prop_assert_eq!(next_span(&text, from), next_span_of_signs(&text, from));
            }
        }

        /// A normal form is found by itself.
        #[test]
        fn normal_forms_of_words_are_stable(word in "[A-Za-zÀ-ÿа-яΑ-Ωα-ω]{1,20}") {
            let first = forms(&word);
            let again: Vec<String> = first.iter().flat_map(|form| forms(form)).collect();
            prop_assert_eq!(first, again);
        }
    }
}
