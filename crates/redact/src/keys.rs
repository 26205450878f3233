//! Keys whose values are secrets, by their words: `x-api-key`, `apiKey` and `OPENAI_API_KEY` all end in `api key`.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use crate::rule::Rule;
use crate::settings::InvalidSetting;

/// What a key's value must be to be kept back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A text, a number, or whatever is nested.
    Any,
    /// A text or a list of texts: numbers and objects of that name are mostly something else.
    Texts,
}

/// Where in a key the words must stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stands {
    /// At its end: `github_token` is a token.
    Last,
    /// Alone: a `data_pin` is no PIN.
    Alone,
}

struct KeyRule {
    rule: Rule,
    takes: Takes,
    stands: Stands,
    keys: &'static [&'static str],
}

const fn last(rule: Rule, takes: Takes, keys: &'static [&'static str]) -> KeyRule {
    let stands = Stands::Last;
    KeyRule {
        rule,
        takes,
        stands,
        keys,
    }
}

const fn alone(rule: Rule, takes: Takes, keys: &'static [&'static str]) -> KeyRule {
    let stands = Stands::Alone;
    KeyRule {
        rule,
        takes,
        stands,
        keys,
    }
}

#[rustfmt::skip]
static KEYS: [KeyRule; 15] = [
    last(Rule::Authorization, Takes::Any, &["authorization"]),
    last(Rule::Cookie, Takes::Any, &["cookie", "cookies", "setcookie"]),
    last(Rule::Invoice, Takes::Texts, &["invoice", "bolt11"]),
    last(Rule::Macaroon, Takes::Any, &["macaroon", "macaroon hex"]),
    last(Rule::Preimage, Takes::Any, &["preimage"]),
    last(Rule::Seed, Takes::Texts, &["seed", "seed phrase", "seed words", "recovery phrase", "mnemonic", "mnemonic phrase"]),
    last(Rule::PrivateKey, Takes::Any, &["private key", "privatekey", "privkey", "signing key", "encryption key"]),
    last(Rule::ApiKey, Takes::Any, &["api key", "apikey", "secret key", "secretkey", "access key", "accesskey", "account key"]),
    last(Rule::Token, Takes::Texts, &[
        "token", "accesstoken", "refreshtoken", "idtoken", "sessiontoken", "authtoken", "api token", "apitoken",
    ]),
    last(Rule::Secret, Takes::Any, &["secret", "client secret", "clientsecret", "secret value"]),
    last(Rule::Password, Takes::Any, &["password", "passwd", "passphrase", "passcode"]),
    alone(Rule::Pin, Takes::Any, &["pin", "pin code", "otp", "otp code", "one time password", "card pin"]),
    last(Rule::Pin, Takes::Any, &["cvv", "cvv2", "cvc", "cvc2", "security code"]),
    last(Rule::Card, Takes::Any, &["card number", "cardnumber", "card no"]),
    alone(Rule::Card, Takes::Any, &["ccnumber", "cc number", "pan"]),
];

/// Each known key by its last word, in the order of the rules: a text may hold thousands of keys.
static BY_LAST_WORD: LazyLock<HashMap<&str, Vec<(&KeyRule, &str)>>> = LazyLock::new(|| {
    let mut by_last_word: HashMap<&str, Vec<(&KeyRule, &str)>> = HashMap::new();
    for known in &KEYS {
        for key in known.keys {
            let last = key.rsplit(' ').next().unwrap_or(key);
            by_last_word.entry(last).or_default().push((known, key));
        }
    }
    by_last_word
});

/// Before `token`: it says where a list goes on, or is a piece of text.
const OPEN_TOKENS: [&str; 19] = [
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "sync",
    "start",
    "cursor",
    "pagination",
    "watermark",
    "max",
    "eos",
    "bos",
    "pad",
    "unk",
    "mask",
    "cls",
    "sep",
    "stop",
];

/// The built-in rule of a key, and what it takes; rules for which `holds` is false are passed over.
pub(crate) fn classify(key: &str, holds: impl Fn(Rule) -> bool) -> Option<(Rule, Takes)> {
    let words = words(key);
    let last = words.last()?.to_ascii_lowercase();
    let mut alike = BY_LAST_WORD.get(last.as_str())?.iter();
    let (known, _) =
        alike.find(|(known, key)| holds(known.rule) && fits(&words, key, known.stands))?;
    let before = words.iter().rev().nth(1);
    let open = before.is_some_and(|word| is_one_of(word, &OPEN_TOKENS));
    (known.rule != Rule::Token || !open).then_some((known.rule, known.takes))
}

/// The spellings of every known key: where one stands in a text, a value may follow.
pub(crate) fn spellings() -> Vec<String> {
    let keys = KEYS.iter().flat_map(|known| known.keys);
    let spelled =
        keys.flat_map(|key| ["", " ", "_", "-", "."].map(|between| key.replace(' ', between)));
    let mut spelled: Vec<String> = spelled.collect();
    spelled.sort();
    spelled.dedup();
    spelled
}

fn fits(words: &[&str], key: &str, stands: Stands) -> bool {
    let mut from_end = words.iter().rev();
    let fits = key.rsplit(' ').all(|wanted| {
        let word = from_end.next();
        word.is_some_and(|word| word.eq_ignore_ascii_case(wanted))
    });
    fits && (stands == Stands::Last || from_end.next().is_none())
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The words of a key: parted by whatever is no letter or digit, and where its case says so.
fn words(key: &str) -> Vec<&str> {
    let parts = key.split(|character: char| !character.is_alphanumeric());
    parts
        .flat_map(humps)
        .filter(|word| !word.is_empty())
        .collect()
}

/// The humps of a camel-cased word: `APIKey` has two.
fn humps(word: &str) -> Vec<&str> {
    let characters: Vec<(usize, char)> = word.char_indices().collect();
    let starts = characters.windows(3).filter_map(|three| match three {
        [_, (at, one), (_, two)] if one.is_uppercase() && two.is_lowercase() => Some(*at),
        _ => None,
    });
    let rises = characters.windows(2).filter_map(|two| match two {
        [(_, one), (at, two)] if !one.is_uppercase() && two.is_uppercase() => Some(*at),
        _ => None,
    });
    let mut cuts: Vec<usize> = starts.chain(rises).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let (mut humps, mut from) = (Vec::with_capacity(cuts.len() + 1), 0);
    for cut in cuts.into_iter().chain([word.len()]) {
        humps.push(word.get(from..cut).unwrap_or_default());
        from = cut;
    }
    humps
}

/// The keys of a policy, whatever their case and however their words are joined.
#[derive(Debug, Clone)]
pub(crate) struct OwnKeys {
    /// Somewhere in a text.
    pub(crate) anywhere: Regex,
    /// A key and nothing else.
    whole: Regex,
}

impl OwnKeys {
    pub(crate) fn compile(keys: &[String]) -> Result<Option<Self>, InvalidSetting> {
        if keys.is_empty() {
            return Ok(None);
        }
        let spelled = keys.iter().enumerate().map(|(index, key)| {
            let words: Vec<String> = words(key).into_iter().map(regex::escape).collect();
            if words.is_empty() {
                let field = format!("keys[{index}]");
                let rule = "has no letter or digit: give a key's name";
                return Err(InvalidSetting::new(field, rule));
            }
            Ok(words.join("[-_. ]?"))
        });
        let spelled: Vec<String> = spelled.collect::<Result<_, _>>()?;
        let any = spelled.join("|");
        let build = |pattern: String| {
            let built = RegexBuilder::new(&pattern).case_insensitive(true).build();
            built.map_err(|_| InvalidSetting::new("keys", "are too large: give fewer"))
        };
        Ok(Some(Self {
            anywhere: build(format!("(?:{any})"))?,
            whole: build(format!("^[-_. ]*(?:{any})[-_. ]*$"))?,
        }))
    }

    /// Whether a text is one of the keys, and nothing else.
    pub(crate) fn is_key(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }

    pub(crate) fn suspect(&self, text: &str) -> bool {
        self.anywhere.is_match(text)
    }
}
