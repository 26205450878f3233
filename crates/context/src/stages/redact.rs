//! Redact: secrets are kept from the model, by the name of their key and by their form.
//!
//! What is found becomes `[redacted:<rule>]`; in JSON the value of a secret's key becomes that string, and nothing else of the
//! verbatim text changes. Redacting twice is redacting once. A file that comes along as a text is redacted as a text. Not looked
//! into: where another picture or file is (its provider must fetch it), names, and what a provider encrypted.

mod assignment;
mod card;
mod client;
mod json;
mod keys;
mod mark;
mod patterns;
mod rules;
mod text;
mod value;

use std::collections::BTreeMap;

use domain::event::ToolOutput;
use domain::{JsonText, Label, MediaSource, Part};
use tokens::Carried;

use crate::transcript::{AnsweredCall, Turn};
pub use client::redact_client;
pub use rules::{PATTERN_SIZE_BYTES_MAX, Rule, Rules};

/// What was kept back, by rule, in the order of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redactions {
    by_rule: BTreeMap<Rule, u64>,
    parts_dropped: u64,
}

impl Redactions {
    /// How often each rule struck, in the order of the rules; none is zero.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        self.by_rule.iter().map(|(rule, count)| (*rule, *count))
    }

    /// How much was kept back in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.by_rule.values().sum()
    }

    /// How many parts were dropped whole, since their provider takes them back unaltered or not at all.
    #[must_use]
    pub fn parts_dropped(&self) -> u64 {
        self.parts_dropped
    }

    /// Adds what was kept back elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (rule, count) in other.iter() {
            *self.by_rule.entry(rule).or_default() += count;
        }
        self.parts_dropped += other.parts_dropped;
    }

    fn count(&mut self, rule: Rule) {
        *self.by_rule.entry(rule).or_default() += 1;
    }
}

/// Redacts what is said, called and answered. A signed thought and a provider's own item are never altered: a hit drops them
/// from their turn, which may be left without parts. A call whose input changes loses its signature, which was for another.
#[must_use]
pub fn redact(turns: &mut [Turn], rules: &Rules) -> Redactions {
    let mut found = Redactions::default();
    for turn in turns {
        turn.parts.retain_mut(|part| keeps(part, rules, &mut found));
        for call in &mut turn.calls {
            redact_call(call, rules, &mut found);
        }
    }
    found
}

/// Redacts a text that is no turn: instructions, a summary, a digest. A text that is a JSON document stays one.
#[must_use]
pub fn redact_text(text: &mut String, rules: &Rules) -> Redactions {
    let mut found = Redactions::default();
    replace(text, rules, &mut found);
    found
}

fn redact_call(call: &mut AnsweredCall, rules: &Rules, found: &mut Redactions) {
    if let Some(input) = mark::json(call.called.input.as_str(), rules, found) {
        call.called.input = JsonText::recorded(input);
        call.called.signature = None;
    }
    match &mut call.answer.output {
        ToolOutput::Json(output) => {
            if let Some(redacted) = mark::json(output.as_str(), rules, found) {
                *output = JsonText::recorded(redacted);
            }
        }
        ToolOutput::Parts(parts) => parts.retain_mut(|part| keeps(part, rules, found)),
    }
}

/// Redacts a part; false: it must go.
fn keeps(part: &mut Part, rules: &Rules, found: &mut Redactions) -> bool {
    match part {
        Part::Text(text)
        | Part::Refusal(text)
        | Part::Thinking {
            text,
            signature: None,
        } => {
            replace(text, rules, found);
            true
        }
        Part::Thinking {
            text,
            signature: Some(_),
        } => {
            let hit = mark::text(text, rules, found).is_some();
            found.parts_dropped += u64::from(hit);
            !hit
        }
        Part::ProviderItem { item, .. } => {
            let hit = mark::json(item.as_str(), rules, found).is_some();
            found.parts_dropped += u64::from(hit);
            !hit
        }
        Part::Image {
            source, media_type, ..
        }
        | Part::File {
            source, media_type, ..
        } => {
            redact_carried(source, media_type.as_ref(), rules, found);
            true
        }
        Part::RedactedThinking(_) => true,
    }
}

/// Redacts a text that an address carries along: most providers show it to their models.
fn redact_carried(
    source: &mut MediaSource,
    media_type: Option<&Label>,
    rules: &Rules,
    found: &mut Redactions,
) {
    let redacted = Carried::of(source, media_type).and_then(|carried| {
        let redacted = mark::text(&carried.text, rules, found)?;
        Some(carried.address(&redacted))
    });
    if let Some(address) = redacted {
        *source = MediaSource::Url(address);
    }
}

fn replace(text: &mut String, rules: &Rules, found: &mut Redactions) {
    if let Some(redacted) = mark::text(text, rules, found) {
        *text = redacted;
    }
}
