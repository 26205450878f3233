//! Patterns of secrets, and anchors: a text without any anchor contains no secret.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::Regex;

use crate::keys::spellings;
use crate::placeholder::is_placeholder;
use crate::rule::Rule;

/// A pattern of secrets.
#[derive(Debug)]
struct Pattern {
    rule: Rule,
    /// Every match contains one of them; in lower case.
    anchors: &'static [&'static str],
    /// The regular expression. Its group is the secret; without a group, the whole match is.
    regex: &'static str,
    /// A further check of the secret.
    check: fn(&str) -> bool,
}

const fn pattern(
    rule: Rule,
    anchors: &'static [&'static str],
    regex: &'static str,
    check: fn(&str) -> bool,
) -> Pattern {
    Pattern { rule, anchors, regex, check }
}

#[rustfmt::skip]
static PATTERNS: [Pattern; 10] = [
    pattern(Rule::Authorization, &["bearer"], r"(?-u:\b)(?i:bearer)\s+([A-Za-z0-9._~+/=-]{12,})", has_digit),
    pattern(Rule::Authorization, &["basic"], r"(?-u:\b)(?i:basic)\s+([A-Za-z0-9+/]{6,}={0,2})", is_basic),
    pattern(Rule::Token, &["eyj"], r"(?-u:\b)eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}", always),
    pattern(
        Rule::PrivateKey, &["private key"],
        r"-----BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----(?:\s|\\+[nr])*(?:[A-Za-z-]+: [^\n\\]*(?:\s|\\+[nr])+)*[A-Za-z0-9+/=]{16,}(?:[A-Za-z0-9+/=]|\s|\\+[nr])*(?:-----END [A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?-----)?",
        always,
    ),
    pattern(Rule::PrivateKey, &["xprv", "yprv", "zprv"], r"(?-u:\b)[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,112}", always),
    pattern(Rule::PrivateKey, &["nsec1"], r"(?-u:\b)nsec1[ac-hj-np-z02-9]{58}", always),
    pattern(
        Rule::ApiKey,
        &[
            "sk-", "sk_", "rk_", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "xapp-",
            "aiza", "hf_", "npm_", "gsk_", "sg.", "shpat_", "whsec_", "pypi-",
        ],
        r"(?x)(?-u:\b)(?:
            sk-[A-Za-z0-9_-]{16,} | [sr]k_(?:live|test)_[A-Za-z0-9]{10,} | (?:AKIA|ASIA)[0-9A-Z]{16} | gh[opusr]_[A-Za-z0-9]{30,}
            | github_pat_[A-Za-z0-9_]{22,} | glpat-[A-Za-z0-9_-]{20,} | xox[abeoprs]-[A-Za-z0-9-]{10,} | xapp-[A-Za-z0-9-]{20,}
            | AIza[0-9A-Za-z_-]{35} | hf_[A-Za-z0-9]{30,} | npm_[A-Za-z0-9]{36} | gsk_[A-Za-z0-9]{32,}
            | SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,} | shpat_[a-fA-F0-9]{32} | whsec_[A-Za-z0-9+/=]{24,} | pypi-[A-Za-z0-9_-]{32,}
        )",
        has_digit,
    ),
    pattern(Rule::Invoice, &["lnbc", "lntb"], r"(?i)(?-u:\b)ln(?:bcrt|bc|tbs|tb)[0-9]*[munp]?1[ac-hj-np-z02-9]{50,}", always),
    pattern(Rule::Macaroon, &["agedbg5k", "0201036c6e64"], r"(?-u:\b)(?:AgEDbG5k[A-Za-z0-9+/_=-]{32,}|(?i:0201036c6e64)[0-9a-fA-F]{64,})", always),
    pattern(Rule::Password, &["://"], r"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,31}://[^\s:/@?#\[\]]{0,128}:([^\s/@?#\[\]]{1,256})@", is_not_placeholder),
];

static REGEXES: LazyLock<Vec<(&'static Pattern, Regex)>> = LazyLock::new(|| {
    let patterns = PATTERNS.iter();
    patterns.map(|pattern| (pattern, constant(pattern.regex))).collect()
});

/// The pattern of each anchor; `None` for the spelling of a key.
static ANCHOR_PATTERNS: LazyLock<Vec<Option<usize>>> = LazyLock::new(|| {
    let anchors =
        PATTERNS.iter().enumerate().flat_map(|(index, pattern)| pattern.anchors.iter().map(move |_| Some(index)));
    let keys = spellings().into_iter().map(|_| None);
    anchors.chain(keys).collect()
});

/// Finds anchors and the spellings of keys in any case, in the order of [`ANCHOR_PATTERNS`].
pub(crate) static ANCHORS: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let anchors = PATTERNS.iter().flat_map(|pattern| pattern.anchors).map(|anchor| (*anchor).to_owned());
    let built = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(anchors.chain(spellings()));
    #[expect(clippy::expect_used, reason = "the anchors are constants, and the tests build them")]
    built.expect("the anchors are few")
});

/// The anchors of a text.
#[derive(Debug, Default)]
pub(crate) struct AnchorMatches {
    /// The ranges of the spellings of keys, ordered by their ends. They may overlap.
    pub(crate) keys: Vec<Range<usize>>,
    /// Whether the text contains an anchor of each pattern.
    patterns: [bool; PATTERNS.len()],
}

impl AnchorMatches {
    pub(crate) fn find(text: &str) -> Self {
        let mut matches = Self::default();
        for anchor in ANCHORS.find_overlapping_iter(text) {
            let pattern = ANCHOR_PATTERNS.get(anchor.pattern().as_usize()).copied().flatten();
            match pattern.and_then(|index| matches.patterns.get_mut(index)) {
                Some(pattern) => *pattern = true,
                None => matches.keys.push(anchor.range()),
            }
        }
        matches
    }

    /// The ranges of the secrets that match a pattern, with their rules. Patterns without an anchor in the text are skipped.
    pub(crate) fn secrets(&self, text: &str) -> impl Iterator<Item = (Range<usize>, Rule)> {
        let patterns = REGEXES.iter().zip(self.patterns).filter_map(|(regex, has_anchor)| has_anchor.then_some(regex));
        patterns.flat_map(move |(pattern, regex)| {
            regex.captures_iter(text).filter_map(|captures| {
                let secret = captures.get(1).or_else(|| captures.get(0))?;
                (pattern.check)(secret.as_str()).then(|| (secret.range(), pattern.rule))
            })
        })
    }
}

/// Compiles a constant pattern.
#[expect(clippy::expect_used, reason = "only for constants, and the tests compile each")]
pub(crate) fn constant(form: &str) -> Regex {
    Regex::new(form).expect("a constant pattern")
}

fn always(_: &str) -> bool {
    true
}

fn has_digit(secret: &str) -> bool {
    secret.bytes().any(|byte| byte.is_ascii_digit())
}

fn is_not_placeholder(secret: &str) -> bool {
    !is_placeholder(secret)
}

/// Whether the text is a user name and a password in the encoding of RFC 7617.
fn is_basic(credentials: &str) -> bool {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = GeneralPurpose::new(&STANDARD, config).decode(credentials);
    let text = decoded.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| text.contains(':') && !text.chars().any(char::is_control))
}
