//! Decides whether the text after a secret's key is the secret, or prose about it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::patterns::constant;
use crate::placeholder::is_placeholder;
use crate::rule::Rule;

/// The sign between a key and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The key is quoted, as in JSON.
    Json,
    /// `=` without spaces, as in query strings and environments.
    Tight,
    /// `:`, or `=` with spaces, as in code, headers and prose.
    Loose,
    /// The word `is`.
    Prose,
}

/// Whether a value is in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoted {
    Yes,
    No,
}

/// Minimum bytes of a secret that only its key identifies.
const SECRET_BYTES_MIN: usize = 3;
/// Minimum bytes of a secret that could also be a word.
const OPAQUE_BYTES_MIN: usize = 8;
/// Minimum bytes of a seed that does not consist of words.
const SEED_BYTES_MIN: usize = 16;
/// Minimum bytes of a password that could also be a word.
const PASSWORD_BYTES_MIN: usize = 6;

/// Authorization schemes.
#[rustfmt::skip]
const SCHEMES: [&str; 10] = [
    "apikey", "aws4-hmac-sha256", "basic", "bearer", "digest", "l402", "lsat", "negotiate", "nostr", "token",
];

/// 12, 15, 18, 21 or 24 words, as in BIP-39, with or without numbers.
static SEED_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let word = r"(?:[0-9]{1,2}[.):]?\s*)?[a-z]{3,8}";
    let next = format!(r"[\s,]+{word}");
    constant(&format!(r#"^[\s"'`\\]*({word}(?:{next}){{2}}(?:(?:{next}){{3}}){{3,7}})(?-u:\b)"#))
});
static LONG_HEX: LazyLock<Regex> = LazyLock::new(|| constant("^(?:0x)?[0-9A-Fa-f]{32,}$"));

/// The range of the seed phrase at the start of a text.
pub(crate) fn seed_words(text: &str) -> Option<Range<usize>> {
    let words = SEED_WORDS.captures(text)?;
    Some(words.get(1)?.range())
}

/// Whether the value of a key is a secret. `rest` is the text after the value.
pub(crate) fn is_secret(rule: Rule, sign: Sign, quoted: Quoted, value: &str, rest: &str) -> bool {
    if value.trim().is_empty() {
        return false;
    }
    match (rule, sign, quoted) {
        (_, Sign::Json, Quoted::Yes) => true,
        (Rule::Key, ..) => !is_placeholder(value),
        (Rule::Invoice, ..) => false,
        (Rule::Pin, ..) => (3..=8).contains(&value.len()) && is_digits(value),
        (Rule::Card, ..) => (12..=19).contains(&value.bytes().filter(u8::is_ascii_digit).count()),
        (Rule::Seed, ..) => value.len() >= SEED_BYTES_MIN && is_opaque(value, rule),
        (Rule::Authorization, Sign::Loose, _) => is_credentials(value),
        (Rule::Cookie, Sign::Loose, _) => value.split_once('=').is_some_and(|(_, value)| !value.is_empty()),
        (_, Sign::Tight, _) => may_be_secret(value) && !is_code(value, rest),
        (_, Sign::Loose, Quoted::Yes) => may_be_secret(value) && !value.contains(char::is_whitespace),
        (Rule::Password, Sign::Loose, Quoted::No) => {
            is_opaque(value, rule) || (is_digits(value) || ends_line(rest)) && is_word(value, rest)
        }
        (Rule::Password, Sign::Json, Quoted::No) if is_digits(value) => true,
        _ => is_opaque(value, rule) && !is_code(value, rest),
    }
}

fn may_be_secret(value: &str) -> bool {
    value.len() >= SECRET_BYTES_MIN && !is_placeholder(value)
}

/// Whether the value does not look like a word: it mixes digits with letters or signs.
fn is_opaque(value: &str, rule: Rule) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let signs = value.bytes().filter(|byte| b"!@#$%^*+/=~".contains(byte)).count();
    let (bytes_min, digits_min) = if rule == Rule::Password { (PASSWORD_BYTES_MIN, 1) } else { (OPAQUE_BYTES_MIN, 2) };
    let mixed = digits >= digits_min && letters + signs > 0;
    let address = value.contains("://") || value.starts_with('/');
    let word = address || value.contains('(') || is_placeholder(value);
    LONG_HEX.is_match(value) || (value.len() >= bytes_min && mixed && !word)
}

/// Whether the value of a header contains credentials: after a scheme, or as one opaque word.
fn is_credentials(value: &str) -> bool {
    let words: Vec<&str> = value.split_whitespace().collect();
    let is_scheme = |word: &str| SCHEMES.iter().any(|name| word.eq_ignore_ascii_case(name));
    match words.as_slice() {
        [word] => is_opaque(word, Rule::Authorization),
        [scheme, word] if is_scheme(scheme) => word.len() >= PASSWORD_BYTES_MIN && may_be_secret(word),
        [scheme, words @ ..] if is_scheme(scheme) => words.iter().any(|word| is_opaque(word, Rule::Authorization)),
        _ => false,
    }
}

/// Whether the value is code: a call, a member, or a variable with a name such as `api_key`.
fn is_code(value: &str, rest: &str) -> bool {
    if rest.starts_with(['(', '[']) || value.contains('(') || value.contains('[') {
        return true;
    }
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let member = value.contains('.') && value.split('.').all(is_name);
    let lower = value.to_ascii_lowercase();
    let names = "token secret password passphrase key cookie auth";
    let is_like_key = names.split(' ').any(|name| lower.ends_with(name));
    member || (is_name(value) && is_like_key)
}

fn is_digits(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(value: &str, rest: &str) -> bool {
    value.len() >= PASSWORD_BYTES_MIN && !is_placeholder(value) && !is_code(value, rest)
}

fn ends_line(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['\n', '\r'])
}
