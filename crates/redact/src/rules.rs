//! The rules of a policy, compiled: which built-in rules hold, and the policy's own keys and patterns.

use std::collections::BTreeSet;

use regex::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};

use crate::card;
use crate::keys::{self, OwnKeys, Takes};
use crate::patterns;
use crate::rule::Rule;
use crate::settings::{BuiltInRules, InvalidSetting, Settings};

/// Most bytes of one compiled pattern of a policy.
pub const PATTERN_SIZE_BYTES_MAX: usize = 1024 * 1024;
/// Most bytes of all compiled patterns of a policy together.
const PATTERNS_SIZE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The rules of a policy, ready for use. Costly to make when the policy has patterns of its own: keep them.
#[derive(Debug, Clone)]
pub struct Rules {
    built_in: BTreeSet<Rule>,
    pub(crate) keys: Option<OwnKeys>,
    pub(crate) patterns: Option<OwnPatterns>,
}

impl Rules {
    /// The rules that the settings ask for.
    ///
    /// # Errors
    /// The first rule that there is not, key that is none, or pattern that is none or too large, by its field.
    pub fn compile(settings: &Settings) -> Result<Self, InvalidSetting> {
        Ok(Self {
            built_in: built_in(&settings.rules)?,
            keys: OwnKeys::compile(&settings.keys)?,
            patterns: OwnPatterns::compile(&settings.patterns)?,
        })
    }

    /// Whether a built-in rule holds.
    pub(crate) fn holds(&self, rule: Rule) -> bool {
        self.built_in.contains(&rule)
    }

    /// The rule of a key, and what it takes.
    pub(crate) fn classify(&self, key: &str) -> Option<(Rule, Takes)> {
        if let Some(own) = &self.keys
            && own.is_key(key)
        {
            return Some((Rule::Key, Takes::Any));
        }
        keys::classify(key, |rule| self.holds(rule))
    }

    /// Whether there may be something to keep back: false is certain, and cheap.
    pub(crate) fn suspect(&self, text: &str) -> bool {
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
pub(crate) struct OwnPatterns {
    set: RegexSet,
    each: Vec<Regex>,
}

impl OwnPatterns {
    fn compile(patterns: &[String]) -> Result<Option<Self>, InvalidSetting> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let each = patterns.iter().enumerate().map(|(index, pattern)| {
            let field = format!("patterns[{index}]");
            let regex = RegexBuilder::new(pattern)
                .size_limit(PATTERN_SIZE_BYTES_MAX)
                .build()
                .map_err(|error| InvalidSetting::new(&field, told(&error)))?;
            if regex.is_match("") {
                let rule = "matches where nothing is: say what must be there";
                return Err(InvalidSetting::new(field, rule));
            }
            Ok(regex)
        });
        let each = each.collect::<Result<Vec<Regex>, InvalidSetting>>()?;
        let set = RegexSetBuilder::new(patterns)
            .size_limit(PATTERNS_SIZE_BYTES_MAX)
            .build()
            .map_err(|error| InvalidSetting::new("patterns", told(&error)))?;
        Ok(Some(Self { set, each }))
    }

    /// The patterns that match somewhere.
    pub(crate) fn matching(&self, text: &str) -> impl Iterator<Item = &Regex> {
        let matches = self.set.matches(text);
        let each = self.each.iter().enumerate();
        each.filter_map(move |(index, regex)| matches.matched(index).then_some(regex))
    }
}

fn built_in(rules: &BuiltInRules) -> Result<BTreeSet<Rule>, InvalidSetting> {
    let mut held: BTreeSet<Rule> = match rules {
        BuiltInRules::None => return Ok(BTreeSet::new()),
        BuiltInRules::All | BuiltInRules::Without(_) => Rule::ALL.into_iter().collect(),
    };
    held.retain(|rule| rule.built_in());
    let BuiltInRules::Without(names) = rules else {
        return Ok(held);
    };
    for (index, name) in names.iter().enumerate() {
        let rule = Rule::named(name).filter(|rule| rule.built_in());
        let Some(rule) = rule else {
            let known = Rule::ALL.into_iter().filter(|rule| rule.built_in());
            let known: Vec<&str> = known.map(Rule::as_str).collect();
            let field = format!("rules.without[{index}]");
            let rule = format!("is no rule: use {}", known.join(", "));
            return Err(InvalidSetting::new(field, rule));
        };
        held.remove(&rule);
    }
    Ok(held)
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
