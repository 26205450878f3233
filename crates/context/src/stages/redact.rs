//! Redact: removes secrets from turns. The crate `redact` finds them; this stage passes it the texts.
//!
//! A file whose text is included in its address is redacted as text. Not redacted: addresses of other pictures and files (their
//! provider must fetch them), names, and content that a provider encrypted.

mod client;

use domain::event::ToolOutput;
use domain::{JsonText, Label, MediaSource, Part, Version};
use redact::{Counts, Redactor, Rule};
use tokens::EmbeddedText;

use crate::outcome::DroppedKind;
use crate::transcript::{AnsweredCall, Turn};
pub use client::redact_client;
pub use redact::Rules;

/// What was redacted, by rule, in the order of the rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redactions {
    counts: Counts,
    /// The events in which something was replaced, each once, in the order of the turns.
    replaced: Vec<Version>,
    dropped: Vec<Dropped>,
}

/// Content that was dropped as a whole, since its provider accepts it only unaltered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// The version of its message, call or result.
    pub version: Version,
    /// Its kind.
    pub what: DroppedKind,
}

impl Redactions {
    /// How often each rule matched, in the order of the rules; none is zero.
    pub fn iter(&self) -> impl Iterator<Item = (Rule, u64)> + '_ {
        self.counts.iter()
    }

    /// How many secrets were redacted.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.total()
    }

    /// The versions of events with a replaced secret, each once, in the order of the turns.
    #[must_use]
    pub fn replaced(&self) -> &[Version] {
        &self.replaced
    }

    /// Content that was dropped as a whole, in the order of the turns.
    #[must_use]
    pub fn dropped(&self) -> &[Dropped] {
        &self.dropped
    }

    /// An upper bound on the added tokens; negative: a lower bound on the removed ones.
    #[must_use]
    pub fn tokens_added(&self) -> i64 {
        self.counts.tokens_added()
    }

    /// Adds other redactions.
    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        for version in &other.replaced {
            self.note_replaced(*version);
        }
        self.dropped.extend(&other.dropped);
    }

    fn note_replaced(&mut self, version: Version) {
        if self.replaced.last() != Some(&version) {
            self.replaced.push(version);
        }
    }

    fn drop_whole(&mut self, version: Version, what: DroppedKind) {
        self.dropped.push(Dropped { version, what });
    }
}

/// Redacts messages, calls and results. A signed thought and a provider's own item are never altered: a match drops them from
/// their turn, which may be left without parts. A call whose input changes loses its signature, which was made for another input.
#[must_use]
pub fn redact(turns: &mut [Turn], redactor: &Redactor<'_>) -> Redactions {
    let mut found = Redactions::default();
    for turn in turns {
        let version = turn.version;
        turn.parts.retain_mut(|part| keeps(part, version, redactor, &mut found));
        for call in &mut turn.calls {
            redact_call(call, redactor, &mut found);
        }
    }
    found
}

/// Redacts a text outside of turns: instructions, a summary, a digest. A JSON document remains a JSON document.
#[must_use]
pub fn redact_text(text: &mut String, redactor: &Redactor<'_>) -> Redactions {
    let mut found = Redactions::default();
    replace(text, redactor, &mut found);
    found
}

fn redact_call(call: &mut AnsweredCall, redactor: &Redactor<'_>, found: &mut Redactions) {
    if let Some(input) = redact::redact_json(call.called.input.as_str(), redactor, &mut found.counts) {
        call.called.input = JsonText::recorded(input);
        found.note_replaced(call.version);
        if call.called.signature.take().is_some() {
            found.drop_whole(call.version, DroppedKind::CallSignature);
        }
    }
    let version = call.answer.origin.result().unwrap_or(call.version);
    match &mut call.answer.output {
        ToolOutput::Json(output) => {
            if let Some(redacted) = redact::redact_json(output.as_str(), redactor, &mut found.counts) {
                *output = JsonText::recorded(redacted);
                found.note_replaced(version);
            }
        }
        ToolOutput::Parts(parts) => parts.retain_mut(|part| keeps(part, version, redactor, found)),
    }
}

/// Redacts a part of an event; returns whether the part is kept.
fn keeps(part: &mut Part, version: Version, redactor: &Redactor<'_>, found: &mut Redactions) -> bool {
    let mut hits = Counts::default();
    let dropped = match part {
        Part::Text(text) | Part::Refusal(text) | Part::Thinking { text, signature: None } => {
            if replace(text, redactor, found) {
                found.note_replaced(version);
            }
            return true;
        }
        Part::Thinking { text, signature: Some(_) } => {
            redact::redact_text(text, redactor, &mut hits).map(|_| DroppedKind::Thinking)
        }
        Part::ProviderItem { item, .. } => {
            redact::redact_json(item.as_str(), redactor, &mut hits).map(|_| DroppedKind::ProviderItem)
        }
        Part::Image { source, media_type, .. } | Part::File { source, media_type, .. } => {
            if redact_carried(source, media_type.as_ref(), redactor, found) {
                found.note_replaced(version);
            }
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

/// Redacts a text that an address contains: most providers show it to their models. Returns whether it changed.
fn redact_carried(
    source: &mut MediaSource,
    media_type: Option<&Label>,
    redactor: &Redactor<'_>,
    found: &mut Redactions,
) -> bool {
    let redacted = EmbeddedText::of(source, media_type).and_then(|carried| {
        let redacted = redact::redact_text(&carried.text, redactor, &mut found.counts)?;
        Some(carried.address(&redacted))
    });
    let is_changed = redacted.is_some();
    if let Some(address) = redacted {
        *source = MediaSource::Url(address);
    }
    is_changed
}

/// Redacts a text; returns whether it changed.
fn replace(text: &mut String, redactor: &Redactor<'_>, found: &mut Redactions) -> bool {
    let redacted = redact::redact_text(text, redactor, &mut found.counts);
    let is_changed = redacted.is_some();
    if let Some(redacted) = redacted {
        *text = redacted;
    }
    is_changed
}
