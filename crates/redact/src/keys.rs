//! Keys whose values are secrets. Keys are compared by words: `x-api-key`, `apiKey` and `OPENAI_API_KEY` end in `api key`.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};

use crate::rule::Rule;
use crate::settings::InvalidSetting;

/// The kinds of values that a key's rule redacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKinds {
    /// A text, a number, an array or an object.
    Any,
    /// A text or a list of texts. Numbers and objects under such keys are usually not secrets.
    Texts,
}

/// Which part of a key the known words must match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    /// The end: `github_token` is a token.
    Suffix,
    /// The whole key: a `data_pin` is not a PIN.
    Whole,
}

/// A rule of keys.
struct KeyRule {
    rule: Rule,
    /// The kinds of values that it redacts.
    kinds: ValueKinds,
    /// How it matches.
    place: Match,
    /// The known keys, in words.
    keys: &'static [&'static str],
}

const fn key_rule(rule: Rule, kinds: ValueKinds, place: Match, keys: &'static [&'static str]) -> KeyRule {
    KeyRule { rule, kinds, place, keys }
}

#[rustfmt::skip]
static KEYS: [KeyRule; 15] = {
    use ValueKinds::{Any, Texts};
    use Match::{Suffix, Whole};
    [
        key_rule(Rule::Authorization, Any, Suffix, &["authorization"]),
        key_rule(Rule::Cookie, Any, Suffix, &["cookie", "cookies", "setcookie"]),
        key_rule(Rule::Invoice, Texts, Suffix, &["invoice", "bolt11"]),
        key_rule(Rule::Macaroon, Any, Suffix, &["macaroon", "macaroon hex"]),
        key_rule(Rule::Preimage, Any, Suffix, &["preimage"]),
        key_rule(Rule::Seed, Texts, Suffix, &["seed", "seed phrase", "seed words", "recovery phrase", "mnemonic", "mnemonic phrase"]),
        key_rule(Rule::PrivateKey, Any, Suffix, &["private key", "privatekey", "privkey", "signing key", "encryption key"]),
        key_rule(Rule::ApiKey, Any, Suffix, &["api key", "apikey", "secret key", "secretkey", "access key", "accesskey", "account key"]),
        key_rule(Rule::Token, Texts, Suffix, &[
            "token", "accesstoken", "refreshtoken", "idtoken", "sessiontoken", "authtoken", "api token", "apitoken",
        ]),
        key_rule(Rule::Secret, Any, Suffix, &["secret", "client secret", "clientsecret", "secret value"]),
        key_rule(Rule::Password, Any, Suffix, &["password", "passwd", "passphrase", "passcode"]),
        key_rule(Rule::Pin, Any, Whole, &["pin", "pin code", "otp", "otp code", "one time password", "card pin"]),
        key_rule(Rule::Pin, Any, Suffix, &["cvv", "cvv2", "cvc", "cvc2", "security code"]),
        key_rule(Rule::Card, Any, Suffix, &["card number", "cardnumber", "card no"]),
        key_rule(Rule::Card, Any, Whole, &["ccnumber", "cc number", "pan"]),
    ]
};

/// Known keys by their last word, in the order of the rules. An index, because a text may contain thousands of keys.
static BY_LAST_WORD: LazyLock<HashMap<&str, Vec<(&KeyRule, &str)>>> = LazyLock::new(|| {
    let mut by_last_word: HashMap<&str, Vec<(&KeyRule, &str)>> = HashMap::new();
    for rule in &KEYS {
        for key in rule.keys {
            let last = key.rsplit(' ').next().unwrap_or(key);
            by_last_word.entry(last).or_default().push((rule, key));
        }
    }
    by_last_word
});

/// Words before `token` that make it public: a cursor of a list, or a token of a text.
#[rustfmt::skip]
const PUBLIC_TOKENS: [&str; 19] = [
    "page", "next", "prev", "previous", "continuation", "sync", "start", "cursor", "pagination", "watermark",
    "max", "eos", "bos", "pad", "unk", "mask", "cls", "sep", "stop",
];

/// The built-in rule of a key, and the kinds of values that it redacts. Rules that `is_enabled` rejects are skipped.
pub(crate) fn classify(key: &str, is_enabled: impl Fn(Rule) -> bool) -> Option<(Rule, ValueKinds)> {
    let words = words(key);
    let last = words.last()?.to_ascii_lowercase();
    let mut rules = BY_LAST_WORD.get(last.as_str())?.iter();
    let (known, _) = rules.find(|(known, key)| is_enabled(known.rule) && matches_words(&words, key, known.place))?;
    let before = words.iter().rev().nth(1);
    let is_public = before.is_some_and(|word| {
        let mut public = PUBLIC_TOKENS.iter();
        public.any(|public| word.eq_ignore_ascii_case(public))
    });
    (known.rule != Rule::Token || !is_public).then_some((known.rule, known.kinds))
}

/// The spellings of every known key. A value may follow where a text contains one.
pub(crate) fn spellings() -> Vec<String> {
    let keys = KEYS.iter().flat_map(|rule| rule.keys);
    let mut spelled: Vec<String> =
        keys.flat_map(|key| ["", " ", "_", "-", "."].map(|between| key.replace(' ', between))).collect();
    spelled.sort();
    spelled.dedup();
    spelled
}

fn matches_words(words: &[&str], key: &str, place: Match) -> bool {
    let mut from_end = words.iter().rev();
    let is_suffix = key.rsplit(' ').all(|wanted| {
        let word = from_end.next();
        word.is_some_and(|word| word.eq_ignore_ascii_case(wanted))
    });
    is_suffix && (place == Match::Suffix || from_end.next().is_none())
}

/// The words of a key: separated by other characters than letters and digits, and by camel case.
fn words(key: &str) -> Vec<&str> {
    let parts = key.split(|character: char| !character.is_alphanumeric());
    let words = parts.flat_map(camel_case_words);
    words.filter(|word| !word.is_empty()).collect()
}

/// The words of a camel-case name: `APIKey` has two.
fn camel_case_words(word: &str) -> Vec<&str> {
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
    let (mut words, mut from) = (Vec::with_capacity(cuts.len() + 1), 0);
    for cut in cuts.into_iter().chain([word.len()]) {
        words.push(word.get(from..cut).unwrap_or_default());
        from = cut;
    }
    words
}

/// The keys of a policy, in any case and with any separator between words.
#[derive(Debug, Clone)]
pub(crate) struct OwnKeys {
    /// Matches a key anywhere in a text.
    pub(crate) anywhere: Regex,
    /// Matches a text that is a key.
    whole: Regex,
}

impl OwnKeys {
    pub(crate) fn compile(keys: &[String]) -> Result<Option<Self>, InvalidSetting> {
        if keys.is_empty() {
            return Ok(None);
        }
        let spelled: Vec<String> = keys
            .iter()
            .enumerate()
            .map(|(index, key)| {
                let words: Vec<String> = words(key).into_iter().map(regex::escape).collect();
                if words.is_empty() {
                    let field = format!("keys[{index}]");
                    let rule = "has no letter or digit: give the name of a key";
                    return Err(InvalidSetting::new(field, rule));
                }
                Ok(words.join("[-_. ]?"))
            })
            .collect::<Result<_, _>>()?;
        let any = spelled.join("|");
        let build = |pattern: String| {
            let built = RegexBuilder::new(&pattern).case_insensitive(true).build();
            built.map_err(|_| InvalidSetting::new("keys", "are too large: give fewer"))
        };
        Ok(Some(Self { anywhere: build(format!("(?:{any})"))?, whole: build(format!("^[-_. ]*(?:{any})[-_. ]*$"))? }))
    }

    /// Whether the whole text is one of the keys.
    pub(crate) fn is_key(&self, text: &str) -> bool {
        self.whole.is_match(text)
    }
}
