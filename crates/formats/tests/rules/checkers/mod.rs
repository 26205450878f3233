//! Whether a request's history satisfies its provider's rules: one function a rule, written from `PROVIDER_RULES.md` alone.
//!
//! The checkers know nothing of the renderers. Where sources disagree they take the stricter reading. A rule named by a
//! letter alone is the form that the provider's published API description gives to the rest.

mod anthropic;
mod gemini;
mod ollama;
mod openai_chat;
mod openai_responses;
mod pairing;
mod value;

use formats::{CallOutputs, Format, RenderOptions};
use serde_json::Value;

/// What is broken, and where: gathered by the rules.
#[derive(Debug, Default)]
pub(crate) struct Broken {
    found: Vec<String>,
}

impl Broken {
    /// Notes what is broken at a place.
    fn at(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.found.push(format!("{place}: {what}"));
    }

    /// Notes what is broken unless it holds.
    fn unless(&mut self, holds: bool, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        if !holds {
            self.at(place, what);
        }
    }
}

/// A rule: notes what of a request's body breaks it.
pub(crate) type Rule = fn(&Value, &mut Broken);

/// The rules of a format, by their ids.
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

/// The rules of a format that only some servers have, where the options ask for them.
fn asked(format: Format, options: &RenderOptions) -> &'static [(&'static str, Rule)] {
    match (format, options.call_outputs) {
        (Format::OpenAiResponses, CallOutputs::Adjacent) => &[openai_responses::ADJACENT],
        _ => &[],
    }
}

/// The rules that a body breaks: id, place and what.
pub(crate) fn broken(format: Format, options: &RenderOptions, body: &Value) -> Vec<String> {
    let each = |(id, rule): &(&str, Rule)| {
        let id = (*id).to_owned();
        found(*rule, body)
            .into_iter()
            .map(move |what| format!("{id} {what}"))
    };
    let rules = rules(format).iter().chain(asked(format, options));
    rules.flat_map(each).collect()
}

fn found(rule: Rule, body: &Value) -> Vec<String> {
    let mut broken = Broken::default();
    rule(body, &mut broken);
    broken.found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Holds a rule to one body that satisfies it and to those that break it.
    pub(crate) fn check(format: Format, id: &str, good: &Value, bad: &[Value]) {
        let options = RenderOptions {
            call_outputs: CallOutputs::Adjacent,
            ..RenderOptions::default()
        };
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
