//! Checks the history in a request against the rules of its provider: one function per rule of
//! `docs/reference/provider-rules.md`.
//!
//! The checkers are independent of the renderers. If sources disagree, the stricter rule applies. A rule whose id is only a
//! letter is the structure in the provider's published API description.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod pairing;
mod value;

use formats::{CallOutputs, Format, RenderOptions};
use serde_json::Value;

/// The violations of rules.
#[derive(Debug, Default)]
pub(crate) struct Violations {
    found: Vec<String>,
}

impl Violations {
    /// Adds a violation at a path.
    fn at(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.found.push(format!("{place}: {what}"));
    }

    /// Adds a violation unless `holds`.
    fn unless(&mut self, holds: bool, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        if !holds {
            self.at(place, what);
        }
    }
}

/// A rule: adds the violations in a request body.
pub(crate) type Rule = fn(&Value, &mut Violations);

/// The rules of a format, by id.
pub(crate) fn rules(format: Format) -> &'static [(&'static str, Rule)] {
    match format {
        Format::Canonical => &[],
        Format::OpenAiChat => openai_chat::RULES,
        Format::OpenAiResponses => openai_responses::RULES,
        Format::Anthropic => anthropic::RULES,
        Format::Gemini => gemini::RULES,
        Format::Ollama => ollama::RULES,
    }
}

/// The rules of a format that apply only with some options.
fn asked(format: Format, options: &RenderOptions) -> &'static [(&'static str, Rule)] {
    match (format, options.call_outputs) {
        (Format::OpenAiResponses, CallOutputs::Adjacent) => &[openai_responses::ADJACENT],
        _ => &[],
    }
}

/// The violations in a body: rule id, path and description.
pub(crate) fn broken(format: Format, options: &RenderOptions, body: &Value) -> Vec<String> {
    let each = |(id, rule): &(&str, Rule)| {
        let id = (*id).to_owned();
        found(*rule, body).into_iter().map(move |what| format!("{id} {what}"))
    };
    let rules = rules(format).iter().chain(asked(format, options));
    rules.flat_map(each).collect()
}

fn found(rule: Rule, body: &Value) -> Vec<String> {
    let mut broken = Violations::default();
    rule(body, &mut broken);
    broken.found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Checks a rule with one body that satisfies it and with bodies that break it.
    pub(crate) fn check(format: Format, id: &str, good: &Value, bad: &[Value]) {
        let options = RenderOptions { call_outputs: CallOutputs::Adjacent, ..RenderOptions::default() };
        let mut rules = rules(format).iter().chain(asked(format, &options));
        let named = rules.find(|(name, _)| *name == id);
        let (_, rule) = named.unwrap_or_else(|| panic!("{format} has no rule {id}"));
        assert_eq!(found(*rule, good), Vec::<String>::new(), "{id}: {good}");
        assert!(!bad.is_empty(), "{id} needs a body that breaks it");
        for bad in bad {
            assert_ne!(found(*rule, bad), Vec::<String>::new(), "{id}: {bad}");
        }
    }
}
