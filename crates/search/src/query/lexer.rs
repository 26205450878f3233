//! Splits a query into words, phrases and filters.

use super::filters::FILTER_NAMES;

/// A part of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'q> {
    /// Whether `-` precedes it.
    pub(super) is_excluded: bool,
    /// Whether it is in quotes.
    pub(super) is_quoted: bool,
    /// The text without `-` and quotes.
    pub(super) text: &'q str,
    /// The name and the value, if it is a filter.
    pub(super) filter: Option<(&'static str, &'q str)>,
}

/// The pieces of a query, in order. A missing closing quote is at the end of the query.
pub(super) fn pieces(query: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = query;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = next(rest);
        rest = after;
        Some(piece)
    })
}

/// The first piece of a text that begins with one, and the rest.
fn next(text: &str) -> (Piece<'_>, &str) {
    let unsigned = text.strip_prefix('-');
    // A lone `-`, and one before a space, is punctuation.
    let unsigned = unsigned.filter(|text| text.starts_with(|sign: char| !sign.is_whitespace()));
    let text = unsigned.unwrap_or(text);
    let mut piece = Piece { is_excluded: unsigned.is_some(), is_quoted: false, text, filter: None };
    if let Some((name, value)) = filter(text) {
        let value = value_of(value);
        piece.filter = Some((name, value.text));
        return (piece, value.rest);
    }
    let value = value_of(text);
    (Piece { is_quoted: value.is_quoted, text: value.text, ..piece }, value.rest)
}

/// The name of the filter that a text begins with, and the text after its colon.
fn filter(text: &str) -> Option<(&'static str, &str)> {
    let (name, value) = text.split_once(':')?;
    let name = FILTER_NAMES.into_iter().find(|known| known.eq_ignore_ascii_case(name))?;
    Some((name, value))
}

/// The value at the start of a text.
struct Value<'q> {
    /// The text in quotes, or up to a space.
    text: &'q str,
    is_quoted: bool,
    /// What follows it.
    rest: &'q str,
}

fn value_of(text: &str) -> Value<'_> {
    if let Some(quoted) = text.strip_prefix('"') {
        let (inner, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
        return Value { text: inner, is_quoted: true, rest };
    }
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    Value { text: word, is_quoted: false, rest }
}
