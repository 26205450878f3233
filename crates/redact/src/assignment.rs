//! Finds assignments in texts: key, sign, value. `password=…`, `api_key: …`, `"token": "…"`, `the PIN is …`.

use std::ops::Range;

use crate::rule::Rule;
use crate::rules::Rules;
use crate::value::{Quoted, Sign, is_secret, seed_words};

/// Maximum bytes of a key before, and after, its known words.
const KEY_REST_BYTES_MAX: usize = 64;
/// Maximum bytes of a quoted value.
const QUOTED_BYTES_MAX: usize = 16 * 1024;
/// Maximum bytes of a value that are checked to decide whether it is a secret. The rest of the value is redacted with it.
const CHECKED_BYTES_MAX: usize = 128;

/// The secret that follows a built-in key, and its rule. `spelling` is the range of the key's known words.
pub(crate) fn find_built_in(text: &str, spelling: &Range<usize>, rules: &Rules) -> Option<(Range<usize>, Rule)> {
    let key = key_around(text, spelling)?;
    let (rule, _) = rules.classify(text.get(key.clone())?)?;
    Some((secret_after(text, key.end, rule)?, rule))
}

/// The secret that follows a key of the policy.
pub(crate) fn find_own(text: &str, key: &Range<usize>) -> Option<Range<usize>> {
    let before = text.get(..key.start)?.chars().next_back();
    let after = text.get(key.end..)?.chars().next();
    let in_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
    if before.is_some_and(in_word) || after.is_some_and(in_word) {
        return None;
    }
    secret_after(text, key.end, Rule::Key)
}

fn key_around(text: &str, spelling: &Range<usize>) -> Option<Range<usize>> {
    let in_key = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let bytes = text.as_bytes();
    let limit = KEY_REST_BYTES_MAX + 1;
    let before = bytes.get(..spelling.start)?.iter().rev().take(limit).take_while(in_key).count();
    let after = bytes.get(spelling.end..)?.iter().take(limit).take_while(in_key).count();
    let fits = before.max(after) <= KEY_REST_BYTES_MAX;
    fits.then_some(spelling.start - before..spelling.end + after)
}

fn secret_after(text: &str, key_end: usize, rule: Rule) -> Option<Range<usize>> {
    let (sign, start) = sign_after(text, key_end)?;
    if rule == Rule::Seed
        && let Some(words) = seed_words(text.get(start..)?)
    {
        return Some(start + words.start..start + words.end);
    }
    if let Some(value) = quoted(text, start) {
        let checked_end = text.floor_char_boundary(value.end.min(value.start + CHECKED_BYTES_MAX));
        let checked = text.get(value.start..checked_end)?;
        return is_secret(rule, sign, Quoted::Yes, checked, "").then_some(value);
    }
    let end = value_end(rule, sign);
    let near = text.get(..text.floor_char_boundary(start + CHECKED_BYTES_MAX))?;
    let span = unquoted(near, start, end);
    let (checked, rest) = (text.get(span.clone())?, text.get(span.end..)?);
    is_secret(rule, sign, Quoted::No, checked, rest).then(|| unquoted(text, start, end))
}

/// The sign after a key, and the start of the value.
fn sign_after(text: &str, key_end: usize) -> Option<(Sign, usize)> {
    let rest = text.get(key_end..)?;
    let unescaped = rest.trim_start_matches('\\');
    let closed = unescaped.strip_prefix(['"', '\'', '`']);
    // An index into a map in code, not a key in JSON.
    let member = closed.and_then(|rest| rest.strip_prefix(']'));
    let after_key = member.or(closed).unwrap_or(rest);
    // Markdown emphasis.
    let after_key = after_key.trim_start_matches('*');
    let spaced = after_key.trim_start_matches([' ', '\t']);
    let (sign, after) = sign(spaced)?;
    let value = after.trim_start_matches('*').trim_start_matches([' ', '\t']);
    let gaps = spaced.len() < after_key.len() || value.len() < after.len();
    let sign = match sign {
        Sign::Prose if !gaps => return None,
        Sign::Loose | Sign::Tight if closed.is_some() && member.is_none() => Sign::Json,
        Sign::Tight if gaps => Sign::Loose,
        Sign::Json | Sign::Tight | Sign::Loose | Sign::Prose => sign,
    };
    Some((sign, text.len() - value.len()))
}

fn sign(text: &str) -> Option<(Sign, &str)> {
    let operators = ["==", "::", "://"];
    if operators.iter().any(|operator| text.starts_with(operator)) {
        return None;
    }
    let mut signs = [
        ("=>", Sign::Loose),
        (":=", Sign::Loose),
        ("=", Sign::Tight),
        (":", Sign::Loose),
        ("：", Sign::Loose),
        ("is:", Sign::Loose),
        ("is ", Sign::Prose),
    ]
    .iter();
    signs.find_map(|(written, sign)| Some((*sign, text.strip_prefix(written)?)))
}

/// The range between the quotes that open at `start`. The quotes may be escaped.
fn quoted(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let unescaped = rest.trim_start_matches('\\');
    let escapes = rest.len() - unescaped.len();
    let quote = unescaped.chars().next().filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    let inside = unescaped.get(1..)?;
    let mut backslashes = 0;
    for (at, character) in inside.char_indices().take_while(|(at, _)| *at < QUOTED_BYTES_MAX) {
        match character {
            '\\' => backslashes += 1,
            _ if character == quote && closes(backslashes, escapes) => {
                let from = start + escapes + 1;
                return Some(from..from + at - backslashes.min(escapes));
            }
            '\n' => return None,
            _ => backslashes = 0,
        }
    }
    None
}

/// Whether a quote after `backslashes` backslashes closes a text whose opening quote follows `escapes` backslashes.
fn closes(backslashes: usize, escapes: usize) -> bool {
    match escapes {
        0 => backslashes.is_multiple_of(2),
        _ => backslashes <= escapes,
    }
}

/// The end of a value without quotes.
#[derive(Clone, Copy)]
enum ValueEnd {
    Line,
    Digits,
    Word,
}

fn value_end(rule: Rule, sign: Sign) -> ValueEnd {
    match (rule, sign) {
        (Rule::Authorization | Rule::Cookie, Sign::Loose) => ValueEnd::Line,
        (Rule::Card, _) => ValueEnd::Digits,
        _ => ValueEnd::Word,
    }
}

fn unquoted(text: &str, start: usize, end: ValueEnd) -> Range<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let at_end = |character: char| match end {
        ValueEnd::Line => "\n\r\"'`\\".contains(character),
        ValueEnd::Digits => !(character.is_ascii_digit() || matches!(character, ' ' | '-')),
        ValueEnd::Word => character.is_whitespace() || "\"'`\\,;&<>|".contains(character),
    };
    let value = rest.split(at_end).next().unwrap_or_default().trim_end_matches(|character: char| {
        character.is_whitespace() || matches!(character, '.' | ':' | '?' | ')' | ']' | '}' | '*')
    });
    start..start + value.len()
}
