//! Values in texts: whether what follows a secret's key is the secret, or a word about it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::patterns::constant;
use crate::placeholder::is_placeholder;
use crate::rule::Rule;

/// How a key says that a value follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// The key is quoted, as in JSON.
    Json,
    /// `=` with nothing around it, as in queries and environments.
    Tight,
    /// `:`, or `=` with spaces, as in code, headers and prose.
    Loose,
    /// `is`.
    Prose,
}

/// Whether a value stands in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quoted {
    Yes,
    No,
}

/// Fewest bytes of a secret that nothing but its key gives away.
const SECRET_BYTES_MIN: usize = 3;
/// Fewest bytes of a secret that also a word could stand for.
const OPAQUE_BYTES_MIN: usize = 8;
/// Fewest bytes of a seed that is not in words.
const SEED_BYTES_MIN: usize = 16;
/// Fewest bytes of a password that also a word could stand for.
const PASSWORD_BYTES_MIN: usize = 6;

/// Schemes of authorization.
const SCHEMES: [&str; 10] = [
    "apikey",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "digest",
    "l402",
    "lsat",
    "negotiate",
    "nostr",
    "token",
];

/// As many words as BIP-39 has: 12, 15, 18, 21 or 24; numbered or not.
static SEED_WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let word = r"(?:[0-9]{1,2}[.):]?\s*)?[a-z]{3,8}";
    let next = format!(r"[\s,]+{word}");
    constant(&format!(
        r#"^[\s"'`\\]*({word}(?:{next}){{2}}(?:(?:{next}){{3}}){{3,7}})(?-u:\b)"#
    ))
});
static LONG_HEX: LazyLock<Regex> = LazyLock::new(|| constant("^(?:0x)?[0-9A-Fa-f]{32,}$"));

/// The words of a seed phrase that a text starts with.
pub(crate) fn seed_words(text: &str) -> Option<Range<usize>> {
    let words = SEED_WORDS.captures(text)?;
    Some(words.get(1)?.range())
}

/// Whether the value of a key of this rule is a secret; `rest` is the text after the value.
pub(crate) fn is_secret(rule: Rule, sign: Sign, quoted: Quoted, said: &str, rest: &str) -> bool {
    if said.trim().is_empty() {
        return false;
    }
    match (rule, sign, quoted) {
        (_, Sign::Json, Quoted::Yes) => true,
        (Rule::Key, ..) => !is_placeholder(said),
        (Rule::Invoice, ..) => false,
        (Rule::Pin, ..) => (3..=8).contains(&said.len()) && is_digits(said),
        (Rule::Card, ..) => (12..=19).contains(&said.bytes().filter(u8::is_ascii_digit).count()),
        (Rule::Seed, ..) => said.len() >= SEED_BYTES_MIN && is_opaque(said, rule),
        (Rule::Authorization, Sign::Loose, _) => is_credentials(said),
        (Rule::Cookie, Sign::Loose, _) => said
            .split_once('=')
            .is_some_and(|(_, value)| !value.is_empty()),
        (_, Sign::Tight, _) => is_given(said) && !is_code(said, rest),
        (_, Sign::Loose, Quoted::Yes) => is_given(said) && !said.contains(char::is_whitespace),
        (Rule::Password, Sign::Loose, Quoted::No) => {
            is_opaque(said, rule) || (is_digits(said) || ends_line(rest)) && is_word(said, rest)
        }
        (Rule::Password, Sign::Json, Quoted::No) if is_digits(said) => true,
        _ => is_opaque(said, rule) && !is_code(said, rest),
    }
}

fn is_given(said: &str) -> bool {
    said.len() >= SECRET_BYTES_MIN && !is_placeholder(said)
}

/// Whether no word of a language looks so: letters and digits, or digits and signs, mixed.
fn is_opaque(said: &str, rule: Rule) -> bool {
    let digits = said.bytes().filter(u8::is_ascii_digit).count();
    let letters = said.bytes().filter(u8::is_ascii_alphabetic).count();
    let signs = said
        .bytes()
        .filter(|byte| b"!@#$%^*+/=~".contains(byte))
        .count();
    let (bytes_min, digits_min) = if rule == Rule::Password {
        (PASSWORD_BYTES_MIN, 1)
    } else {
        (OPAQUE_BYTES_MIN, 2)
    };
    let mixed = digits >= digits_min && letters + signs > 0;
    let address = said.contains("://") || said.starts_with('/');
    let word = address || said.contains('(') || is_placeholder(said);
    LONG_HEX.is_match(said) || (said.len() >= bytes_min && mixed && !word)
}

/// Whether it is a header's value with credentials: after a scheme, or something opaque alone.
fn is_credentials(said: &str) -> bool {
    let words: Vec<&str> = said.split_whitespace().collect();
    let schemed = |word: &str| {
        SCHEMES
            .iter()
            .any(|scheme| word.eq_ignore_ascii_case(scheme))
    };
    match words.as_slice() {
        [word] => is_opaque(word, Rule::Authorization),
        [scheme, word] if schemed(scheme) => word.len() >= PASSWORD_BYTES_MIN && is_given(word),
        [scheme, words @ ..] if schemed(scheme) => words
            .iter()
            .any(|word| is_opaque(word, Rule::Authorization)),
        _ => false,
    }
}

/// Whether it names a value in code: a call, a member, a variable of the same name.
fn is_code(said: &str, rest: &str) -> bool {
    if rest.starts_with(['(', '[']) || said.contains('(') || said.contains('[') {
        return true;
    }
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphabetic() || byte == b'_')
    };
    let member = said.contains('.') && said.split('.').all(is_name);
    let names = [
        "token",
        "secret",
        "password",
        "passphrase",
        "key",
        "cookie",
        "auth",
    ];
    let lower = said.to_ascii_lowercase();
    member || (is_name(said) && names.iter().any(|name| lower.ends_with(name)))
}

fn is_digits(said: &str) -> bool {
    said.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_word(said: &str, rest: &str) -> bool {
    said.len() >= PASSWORD_BYTES_MIN && !is_placeholder(said) && !is_code(said, rest)
}

fn ends_line(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['\n', '\r'])
}
