//! The rules: their names, and what of them a policy lets hold.

use std::collections::BTreeSet;
use std::fmt;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use super::card;
use super::keys::OwnKeys;
use super::patterns;
use crate::policy::{Mistake, Redact, RedactRules};

/// Most bytes of one compiled pattern of a policy.
pub const PATTERN_SIZE_BYTES_MAX: usize = 1024 * 1024;
/// Most bytes of all compiled patterns of a policy together.
const PATTERNS_SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What keeps something back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Authorization headers, and the credentials of the bearer and basic schemes.
    Authorization,
    /// Cookies.
    Cookie,
    /// Lightning invoices.
    Invoice,
    /// Macaroons.
    Macaroon,
    /// Preimages of payments.
    Preimage,
    /// Seeds and seed phrases.
    Seed,
    /// Private keys.
    PrivateKey,
    /// Keys of providers and services.
    ApiKey,
    /// Tokens: access, refresh, id, session; JWTs.
    Token,
    /// Secrets.
    Secret,
    /// Passwords and passphrases, those in addresses too.
    Password,
    /// PINs, one-time codes, and the codes of cards.
    Pin,
    /// Card numbers.
    Card,
    /// The values of a policy's own keys.
    Key,
    /// A policy's own patterns.
    Pattern,
}

impl Rule {
    /// Every rule, in order.
    pub const ALL: [Self; 15] = [
        Self::Authorization,
        Self::Cookie,
        Self::Invoice,
        Self::Macaroon,
        Self::Preimage,
        Self::Seed,
        Self::PrivateKey,
        Self::ApiKey,
        Self::Token,
        Self::Secret,
        Self::Password,
        Self::Pin,
        Self::Card,
        Self::Key,
        Self::Pattern,
    ];

    /// Its name, in policies, marks and receipts. Stable for ever.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Authorization => "authorization",
            Self::Cookie => "cookie",
            Self::Invoice => "invoice",
            Self::Macaroon => "macaroon",
            Self::Preimage => "preimage",
            Self::Seed => "seed",
            Self::PrivateKey => "private_key",
            Self::ApiKey => "api_key",
            Self::Token => "token",
            Self::Secret => "secret",
            Self::Password => "password",
            Self::Pin => "pin",
            Self::Card => "card",
            Self::Key => "key",
            Self::Pattern => "pattern",
        }
    }

    /// The rule of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == name)
    }

    /// Whether a policy need not bring anything for it.
    fn built_in(self) -> bool {
        !matches!(self, Self::Key | Self::Pattern)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The rules of a policy, ready for use. Costly to make when the policy has patterns of its own: keep them.
#[derive(Debug, Clone)]
pub struct Rules {
    built_in: BTreeSet<Rule>,
    pub(super) keys: Option<OwnKeys>,
    pub(super) patterns: Option<OwnPatterns>,
}

impl Rules {
    /// The rules that a policy asks for.
    ///
    /// # Errors
    /// The first rule that there is not, key that is none, or pattern that is none or too large, by its field.
    pub fn compile(redact: &Redact) -> Result<Self, Mistake> {
        Ok(Self {
            built_in: built_in(&redact.rules)?,
            keys: OwnKeys::compile(&redact.keys)?,
            patterns: OwnPatterns::compile(&redact.patterns)?,
        })
    }

    /// Whether a built-in rule holds.
    pub(super) fn holds(&self, rule: Rule) -> bool {
        self.built_in.contains(&rule)
    }

    /// Whether there may be something to keep back: false is certain, and cheap.
    pub(super) fn suspect(&self, text: &str) -> bool {
        let built_in =
            !self.built_in.is_empty() && (patterns::ANCHORS.is_match(text) || card::suspect(text));
        built_in
            || self.keys.as_ref().is_some_and(|keys| keys.suspect(text))
            || self
                .patterns
                .as_ref()
                .is_some_and(|own| own.set.is_match(text))
    }
}

/// The patterns of a policy.
#[derive(Debug, Clone)]
pub(super) struct OwnPatterns {
    set: RegexSet,
    each: Vec<Regex>,
}

impl OwnPatterns {
    fn compile(patterns: &[String]) -> Result<Option<Self>, Mistake> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let each = patterns.iter().enumerate().map(|(index, pattern)| {
            let field = format!("redact.patterns[{index}]");
            let regex = RegexBuilder::new(pattern)
                .size_limit(PATTERN_SIZE_BYTES_MAX)
                .build()
                .map_err(|error| mistake(&field, told(&error)))?;
            if regex.is_match("") {
                let rule = "matches where nothing is: say what must be there";
                return Err(mistake(&field, rule));
            }
            Ok(regex)
        });
        let each = each.collect::<Result<Vec<Regex>, Mistake>>()?;
        let set = RegexSetBuilder::new(patterns)
            .size_limit(PATTERNS_SIZE_BYTES_MAX)
            .build()
            .map_err(|error| mistake("redact.patterns", told(&error)))?;
        Ok(Some(Self { set, each }))
    }

    /// The patterns that match somewhere.
    pub(super) fn matching(&self, text: &str) -> impl Iterator<Item = &Regex> {
        let matches = self.set.matches(text);
        let each = self.each.iter().enumerate();
        each.filter_map(move |(index, regex)| matches.matched(index).then_some(regex))
    }
}

fn built_in(rules: &RedactRules) -> Result<BTreeSet<Rule>, Mistake> {
    let mut held: BTreeSet<Rule> = match rules {
        RedactRules::None => return Ok(BTreeSet::new()),
        RedactRules::All | RedactRules::Without(_) => Rule::ALL.into_iter().collect(),
    };
    held.retain(|rule| rule.built_in());
    let RedactRules::Without(names) = rules else {
        return Ok(held);
    };
    for (index, name) in names.iter().enumerate() {
        let rule = Rule::named(name).filter(|rule| rule.built_in());
        let Some(rule) = rule else {
            let known = Rule::ALL.into_iter().filter(|rule| rule.built_in());
            let known: Vec<&str> = known.map(Rule::as_str).collect();
            let field = format!("redact.rules.without[{index}]");
            let rule = format!("is no rule: use {}", known.join(", "));
            return Err(mistake(&field, rule));
        };
        held.remove(&rule);
    }
    Ok(held)
}

pub(super) fn mistake(field: &str, rule: impl Into<String>) -> Mistake {
    Mistake {
        field: field.to_owned(),
        rule: rule.into(),
    }
}

/// The gist of an error: without the pattern, which its author has.
fn told(error: &regex::Error) -> String {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return "is too large when compiled: repeat less".to_owned();
    }
    let whole = error.to_string();
    let gist = whole.lines().last().unwrap_or_default();
    let gist = gist.trim().trim_start_matches("error: ");
    format!("is no regular expression: {gist}")
}
