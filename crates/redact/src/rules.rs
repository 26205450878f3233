//! The compiled rules of a policy: its built-in rules, keys and patterns.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::card;
use crate::keys::{self, OwnKeys, ValueKinds};
use crate::patterns;
use crate::rule::Rule;
use crate::settings::{BuiltInRules, InvalidSetting, Settings};

/// Maximum bytes of one compiled pattern of a policy.
pub const PATTERN_SIZE_BYTES_MAX: usize = 1024 * 1024;
/// Maximum bytes of all compiled patterns of a policy together.
const PATTERNS_SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The compiled rules of a policy. Cache them: compiling the patterns of a policy is expensive.
#[derive(Debug, Clone)]
pub struct Rules {
    built_in: BTreeSet<Rule>,
    pub(crate) keys: Option<OwnKeys>,
    pub(crate) patterns: Option<OwnPatterns>,
}

impl Rules {
    /// Compiles settings.
    ///
    /// # Errors
    /// The field of the first unknown rule, invalid key, or invalid or too large pattern.
    pub fn compile(settings: &Settings) -> Result<Self, InvalidSetting> {
        Ok(Self {
            built_in: built_in(&settings.rules)?,
            keys: OwnKeys::compile(&settings.keys)?,
            patterns: OwnPatterns::compile(&settings.patterns)?,
        })
    }

    /// Whether a built-in rule is enabled.
    pub(crate) fn has_built_in(&self, rule: Rule) -> bool {
        self.built_in.contains(&rule)
    }

    /// The rule of a key, and the kinds of values that it redacts.
    pub(crate) fn classify(&self, key: &str) -> Option<(Rule, ValueKinds)> {
        if let Some(own) = &self.keys
            && own.is_key(key)
        {
            return Some((Rule::Key, ValueKinds::Any));
        }
        keys::classify(key, |rule| self.has_built_in(rule))
    }

    /// Whether a JSON document may contain a secret. Cheap, and has no false negatives: a pattern of the policy may match any decoded
    /// string, and `\u0061` and `\/` hide keys and anchors. Other escapes are of characters that neither has.
    pub(crate) fn may_match_json(&self, document: &str) -> bool {
        let hides = || document.contains("\\u") || document.contains("\\/");
        self.patterns.is_some() || self.may_match(document) || hides()
    }

    /// Whether a text that is no JSON document may contain a secret. Cheap, and has no false negatives.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        let built_in = !self.built_in.is_empty() && (patterns::ANCHORS.is_match(text) || card::may_contain(text));
        let keys = self.keys.as_ref();
        built_in || keys.is_some_and(|keys| keys.anywhere.is_match(text)) || self.matches_pattern(text)
    }

    /// Whether a pattern of the policy matches somewhere in a text.
    pub(crate) fn matches_pattern(&self, text: &str) -> bool {
        let patterns = self.patterns.as_ref();
        patterns.is_some_and(|patterns| patterns.set.is_match(text))
    }
}

/// The patterns of a policy.
#[derive(Debug, Clone)]
pub(crate) struct OwnPatterns {
    set: RegexSet,
    each: Vec<Regex>,
}

impl OwnPatterns {
    fn compile(patterns: &[String]) -> Result<Option<Self>, InvalidSetting> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let each = patterns
            .iter()
            .enumerate()
            .map(|(index, pattern)| {
                let field = format!("patterns[{index}]");
                let regex = RegexBuilder::new(pattern)
                    .size_limit(PATTERN_SIZE_BYTES_MAX)
                    .build()
                    .map_err(|error| InvalidSetting::new(&field, describe(&error)))?;
                if regex.is_match("") {
                    let rule = "matches the empty text: require at least one character";
                    return Err(InvalidSetting::new(field, rule));
                }
                Ok(regex)
            })
            .collect::<Result<Vec<Regex>, InvalidSetting>>()?;
        let set = RegexSetBuilder::new(patterns)
            .size_limit(PATTERNS_SIZE_BYTES_MAX)
            .build()
            .map_err(|error| InvalidSetting::new("patterns", describe(&error)))?;
        Ok(Some(Self { set, each }))
    }

    /// The patterns that match somewhere in the text.
    pub(crate) fn matching(&self, text: &str) -> impl Iterator<Item = &Regex> {
        let matches = self.set.matches(text);
        let each = self.each.iter().enumerate();
        each.filter_map(move |(index, regex)| matches.matched(index).then_some(regex))
    }
}

fn built_in(rules: &BuiltInRules) -> Result<BTreeSet<Rule>, InvalidSetting> {
    let known = || Rule::ALL.into_iter().filter(|rule| rule.is_built_in());
    let excluded = match rules {
        BuiltInRules::None => return Ok(BTreeSet::new()),
        BuiltInRules::All => return Ok(known().collect()),
        BuiltInRules::Without(names) => names,
    };
    let mut enabled: BTreeSet<Rule> = known().collect();
    for (index, name) in excluded.iter().enumerate() {
        let Some(rule) = Rule::from_name(name).filter(|rule| rule.is_built_in()) else {
            let known: Vec<&str> = known().map(Rule::as_str).collect();
            let field = format!("rules.without[{index}]");
            let rule = format!("is not a rule: use {}", known.join(", "));
            return Err(InvalidSetting::new(field, rule));
        };
        enabled.remove(&rule);
    }
    Ok(enabled)
}

/// The last line of an error, without the pattern.
fn describe(error: &regex::Error) -> String {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return "is too large when compiled: repeat less".to_owned();
    }
    let whole = error.to_string();
    let last = whole.lines().last().unwrap_or_default();
    let reason = last.trim().trim_start_matches("error: ");
    format!("is not a regular expression: {reason}")
}
