//! Assignments in texts: a key, a sign, a value. `password=…`, `api_key: …`, `"token": "…"`, `the PIN is …`.

use std::ops::Range;

use crate::rule::Rule;
use crate::rules::Rules;
use crate::value::{Quoted, Sign, is_secret, seed_words};

/// Most bytes of what a key has before and after its known words.
const KEY_REST_BYTES_MAX: usize = 64;
/// Most bytes of a value in quotes.
const QUOTED_BYTES_MAX: usize = 16 * 1024;
/// How many bytes of another value tell whether it is a secret: what follows belongs to it.
const TELLING_BYTES_MAX: usize = 128;

/// The secret whose key has a known spelling here.
pub(crate) fn known(
    text: &str,
    spelling: &Range<usize>,
    rules: &Rules,
) -> Option<(Range<usize>, Rule)> {
    let key = key_around(text, spelling)?;
    let (rule, _) = rules.classify(text.get(key.clone())?)?;
    Some((secret_after(text, key.end, rule)?, rule))
}

/// The secret of a policy's own key, which stands here.
pub(crate) fn own(text: &str, key: &Range<usize>) -> Option<Range<usize>> {
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
    let before = bytes.get(..spelling.start)?.iter().rev().take(limit);
    let before = before.take_while(in_key).count();
    let after = bytes.get(spelling.end..)?.iter().take(limit);
    let after = after.take_while(in_key).count();
    let fits = before.max(after) <= KEY_REST_BYTES_MAX;
    fits.then_some(spelling.start - before..spelling.end + after)
}

fn secret_after(text: &str, key_end: usize, rule: Rule) -> Option<Range<usize>> {
    let (sign, start) = signed(text, key_end)?;
    if rule == Rule::Seed
        && let Some(words) = seed_words(text.get(start..)?)
    {
        return Some(start + words.start..start + words.end);
    }
    if let Some(value) = quoted(text, start) {
        let telling = text.floor_char_boundary(value.end.min(value.start + TELLING_BYTES_MAX));
        let said = text.get(value.start..telling)?;
        return is_secret(rule, sign, Quoted::Yes, said, "").then_some(value);
    }
    let ends = ends(rule, sign);
    let near = text.get(..text.floor_char_boundary(start + TELLING_BYTES_MAX))?;
    let telling = unquoted(near, start, ends);
    let (said, rest) = (text.get(telling.clone())?, text.get(telling.end..)?);
    is_secret(rule, sign, Quoted::No, said, rest).then(|| unquoted(text, start, ends))
}

/// The sign after a key, and where the value starts.
fn signed(text: &str, key_end: usize) -> Option<(Sign, usize)> {
    let rest = text.get(key_end..)?;
    let unescaped = rest.trim_start_matches('\\');
    let closed = unescaped.strip_prefix(['"', '\'', '`']);
    // A member of a map in code, not a key in JSON.
    let member = closed.and_then(|rest| rest.strip_prefix(']'));
    let after_key = member.or(closed).unwrap_or(rest);
    // Emphasis of Markdown.
    let after_key = after_key.trim_start_matches('*');
    let spaced = after_key.trim_start_matches([' ', '\t']);
    let (sign, after) = sign(spaced)?;
    let value = after
        .trim_start_matches('*')
        .trim_start_matches([' ', '\t']);
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
    if ["==", "::", "://"]
        .iter()
        .any(|other| text.starts_with(other))
    {
        return None;
    }
    let signs = [
        ("=>", Sign::Loose),
        (":=", Sign::Loose),
        ("=", Sign::Tight),
        (":", Sign::Loose),
        ("：", Sign::Loose),
        ("is:", Sign::Loose),
        ("is ", Sign::Prose),
    ];
    let mut signs = signs.iter();
    signs.find_map(|(written, sign)| Some((*sign, text.strip_prefix(written)?)))
}

/// What stands between the quotes that open here, which may be escaped.
fn quoted(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let unescaped = rest.trim_start_matches('\\');
    let escapes = rest.len() - unescaped.len();
    let quote = unescaped
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\'' | '`'))?;
    let inside = unescaped.get(1..)?;
    let mut backslashes = 0;
    for (at, character) in inside
        .char_indices()
        .take_while(|(at, _)| *at < QUOTED_BYTES_MAX)
    {
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

/// Whether a quote after so many backslashes ends a text whose first had so many.
fn closes(backslashes: usize, escapes: usize) -> bool {
    match escapes {
        0 => backslashes.is_multiple_of(2),
        _ => backslashes <= escapes,
    }
}

/// What a value that is not in quotes runs to.
#[derive(Clone, Copy)]
enum Ends {
    Line,
    Digits,
    Word,
}

fn ends(rule: Rule, sign: Sign) -> Ends {
    match (rule, sign) {
        (Rule::Authorization | Rule::Cookie, Sign::Loose) => Ends::Line,
        (Rule::Card, _) => Ends::Digits,
        _ => Ends::Word,
    }
}

fn unquoted(text: &str, start: usize, ends: Ends) -> Range<usize> {
    let rest = text.get(start..).unwrap_or_default();
    let at_end = |character: char| match ends {
        Ends::Line => matches!(character, '\n' | '\r' | '"' | '\'' | '`' | '\\'),
        Ends::Digits => !(character.is_ascii_digit() || matches!(character, ' ' | '-')),
        Ends::Word => {
            character.is_whitespace()
                || matches!(
                    character,
                    '"' | '\'' | '`' | '\\' | ',' | ';' | '&' | '<' | '>' | '|'
                )
        }
    };
    let value = rest.split(at_end).next().unwrap_or_default();
    let value = value.trim_end_matches(|character: char| {
        character.is_whitespace() || matches!(character, '.' | ':' | '?' | ')' | ']' | '}' | '*')
    });
    start..start + value.len()
}
