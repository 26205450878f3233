//! Redact: secrets are kept from the model. The crate `redact` finds them; this stage gives it the texts of turns.
//!
//! A file that comes along as a text is redacted as a text. Not redacted: the addresses of other pictures and files (their
//! provider must fetch them), names, and what a provider encrypted.

mod client;

use domain::event::ToolOutput;
use domain::{JsonText, Label, MediaSource, Part, Version};
use redact::{Counts, Rule};
use tokens::Carried;

use crate::transcript::{AnswerOrigin, AnsweredCall, Turn};
pub use client::redact_client;
pub use redact::Rules;

/// What was kept back, by rule, in the order of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redactions {
    counts: Counts,
    dropped: Vec<Dropped>,
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
        self.counts.iter()
    }

    /// How much was kept back in all.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.total()
    }

    /// What was dropped whole, in the order of the turns.
    #[must_use]
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// By how many tokens what is left weighs more than before, at most; below zero: by how many less, at least.
    #[must_use]
    pub fn tokens_added(&self) -> i64 {
        self.counts.tokens_added()
    }

    /// Adds what was kept back elsewhere.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        self.dropped.extend(&other.dropped);
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
    if let Some(input) = redact::redact_json(call.called.input.as_str(), rules, &mut found.counts) {
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
            if let Some(redacted) = redact::redact_json(output.as_str(), rules, &mut found.counts) {
                *output = JsonText::recorded(redacted);
            }
        }
        ToolOutput::Parts(parts) => parts.retain_mut(|part| keeps(part, version, rules, found)),
    }
}

/// Redacts a part of an event; false: it must go.
fn keeps(part: &mut Part, version: Version, rules: &Rules, found: &mut Redactions) -> bool {
    let mut hits = Counts::default();
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
        } => redact::redact_text(text, rules, &mut hits).map(|_| DroppedKind::Thinking),
        Part::ProviderItem { item, .. } => {
            redact::redact_json(item.as_str(), rules, &mut hits).map(|_| DroppedKind::ProviderItem)
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
        found.counts.merge(&hits.without_tokens());
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
        let redacted = redact::redact_text(&carried.text, rules, &mut found.counts)?;
        Some(carried.address(&redacted))
    });
    if let Some(address) = redacted {
        *source = MediaSource::Url(address);
    }
}

fn replace(text: &mut String, rules: &Rules, found: &mut Redactions) {
    if let Some(redacted) = redact::redact_text(text, rules, &mut found.counts) {
        *text = redacted;
    }
}
