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
use domain::{JsonText, Label, MediaSource, Part, Version};
use tokens::Carried;

use crate::transcript::{AnswerOrigin, AnsweredCall, Turn};
pub use client::redact_client;
pub use rules::{PATTERN_SIZE_BYTES_MAX, Rule, Rules};

/// What was kept back, by rule, in the order of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redactions {
    by_rule: BTreeMap<Rule, u64>,
    dropped: Vec<Dropped>,
    tokens_added: i64,
}

/// Something that was dropped whole, since its provider takes it back unaltered or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The version of the message, the call or the result that it was of.
    pub version: Version,
    /// What it was.
    pub what: DroppedKind,
}

/// What is dropped whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppedKind {
    /// A signed thought.
    Thinking,
    /// A provider's own item.
    ProviderItem,
    /// The signature of a call, which was for another input.
    CallSignature,
}

impl DroppedKind {
    /// Its name, as receipts write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::ProviderItem => "provider_item",
            Self::CallSignature => "call_signature",
        }
    }
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

    /// What was dropped whole, in the order of the turns.
    #[must_use]
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// By how many tokens what is left weighs more than before, at most; below zero: by how many less, at least.
    #[must_use]
    pub fn tokens_added(&self) -> i64 {
        self.tokens_added
    }

    /// Adds what was kept back elsewhere.
    pub fn merge(&mut self, other: &Self) {
        for (rule, count) in other.iter() {
            *self.by_rule.entry(rule).or_default() += count;
        }
        self.dropped.extend(&other.dropped);
        self.tokens_added += other.tokens_added;
    }

    fn count(&mut self, rule: Rule, tokens_added: i64) {
        *self.by_rule.entry(rule).or_default() += 1;
        self.tokens_added += tokens_added;
    }

    fn drop_whole(&mut self, version: Version, what: DroppedKind) {
        self.dropped.push(Dropped { version, what });
    }
}

/// Redacts what is said, called and answered. A signed thought and a provider's own item are never altered: a hit drops them
/// from their turn, which may be left without parts. A call whose input changes loses its signature, which was for another.
#[must_use]
pub fn redact(turns: &mut [Turn], rules: &Rules) -> Redactions {
    let mut found = Redactions::default();
    for turn in turns {
        let version = turn.version;
        turn.parts
            .retain_mut(|part| keeps(part, version, rules, &mut found));
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
        if call.called.signature.take().is_some() {
            found.drop_whole(call.version, DroppedKind::CallSignature);
        }
    }
    let version = match call.answer.origin {
        AnswerOrigin::Recorded(version) | AnswerOrigin::Cleared(version) => version,
        AnswerOrigin::Pending | AnswerOrigin::Interrupted => call.version,
    };
    match &mut call.answer.output {
        ToolOutput::Json(output) => {
            if let Some(redacted) = mark::json(output.as_str(), rules, found) {
                *output = JsonText::recorded(redacted);
            }
        }
        ToolOutput::Parts(parts) => parts.retain_mut(|part| keeps(part, version, rules, found)),
    }
}

/// Redacts a part of an event; false: it must go.
fn keeps(part: &mut Part, version: Version, rules: &Rules, found: &mut Redactions) -> bool {
    let mut hits = Redactions::default();
    let dropped = match part {
        Part::Text(text)
        | Part::Refusal(text)
        | Part::Thinking {
            text,
            signature: None,
        } => {
            replace(text, rules, found);
            return true;
        }
        Part::Thinking {
            text,
            signature: Some(_),
        } => mark::text(text, rules, &mut hits).map(|_| DroppedKind::Thinking),
        Part::ProviderItem { item, .. } => {
            mark::json(item.as_str(), rules, &mut hits).map(|_| DroppedKind::ProviderItem)
        }
        Part::Image {
            source, media_type, ..
        }
        | Part::File {
            source, media_type, ..
        } => {
            redact_carried(source, media_type.as_ref(), rules, found);
            return true;
        }
        Part::RedactedThinking(_) => None,
    };
    if let Some(what) = dropped {
        // No mark takes its place.
        hits.tokens_added = 0;
        found.merge(&hits);
        found.drop_whole(version, what);
    }
    dropped.is_none()
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
