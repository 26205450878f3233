//! The compiled rules of a policy: its built-in rules, keys and patterns.

use std::collections::BTreeSet;

use crate::card;
use crate::keys::{self, OwnKeys, ValueKinds};
use crate::own_patterns::OwnPatterns;
use crate::patterns;
use crate::rule::Rule;
use crate::settings::{BuiltInRules, InvalidSetting, Settings};

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

    /// Whether matching can take longer than a few milliseconds per MiB: the policy has patterns of its own.
    #[must_use]
    pub fn has_patterns(&self) -> bool {
        self.patterns.is_some()
    }

    /// Bytes of the compiled patterns in memory, at least.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.patterns.as_ref().map_or(0, OwnPatterns::size_bytes)
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
        self.may_match(document) || hides()
    }

    /// Whether a text that is no JSON document may contain a secret. Cheap, and has no false negatives.
    pub(crate) fn may_match(&self, text: &str) -> bool {
        let built_in = !self.built_in.is_empty() && (patterns::ANCHORS.is_match(text) || card::may_contain(text));
        let keys = self.keys.as_ref();
        built_in || self.patterns.is_some() || keys.is_some_and(|keys| keys.anywhere.is_match(text))
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
