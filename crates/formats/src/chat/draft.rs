//! Assembles a reply. Whole replies and streamed pieces use the same draft, so that their facts are equal.

use domain::event::{MessageAppended, Role, ToolCalled, Usage, UsageSource};
use domain::{Fact, Label, MediaSource, Part};

use super::call_drafts::{CallDrafts, CallPiece};
use crate::reply::{Delta, ParseError, Reply};
use crate::values;

/// Maximum bytes of text, thoughts and inputs of one reply.
pub(crate) const REPLY_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// An incomplete reply.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// The provider's id of the response.
    pub(crate) response_id: Option<Label>,
    /// The model.
    pub(crate) model: Option<Label>,
    /// Why the model stopped.
    pub(crate) finish_reason: Option<Label>,
    /// What it cost.
    pub(crate) usage: Option<Usage>,
    /// The seed of generated ids.
    pub(crate) seed: String,
    thinking: String,
    text: String,
    refusal: String,
    others: Vec<Part>,
    calls: CallDrafts,
    size_bytes: usize,
}

impl Draft {
    /// Appends to the text.
    pub(crate) fn add_text(&mut self, more: &str, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
        self.grow(more.len())?;
        self.text.push_str(more);
        deltas.extend(some(more).map(Delta::Text));
        Ok(())
    }

    /// Appends to the thought.
    pub(crate) fn add_thinking(&mut self, more: &str, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
        self.grow(more.len())?;
        self.thinking.push_str(more);
        deltas.extend(some(more).map(Delta::Thinking));
        Ok(())
    }

    /// Appends to the refusal.
    pub(crate) fn add_refusal(&mut self, more: &str, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
        self.grow(more.len())?;
        self.refusal.push_str(more);
        deltas.extend(some(more).map(Delta::Refusal));
        Ok(())
    }

    /// Adds a part of another kind, after the texts.
    pub(crate) fn add_other(&mut self, part: Part) -> Result<(), ParseError> {
        let content = match &part {
            Part::ProviderItem { item, .. } => item.as_str().len(),
            Part::Image { source, .. } | Part::File { source, .. } => match source {
                MediaSource::Url(text) | MediaSource::FileId(text) => text.len(),
            },
            Part::Text(text) | Part::Refusal(text) | Part::RedactedThinking(text) | Part::Thinking { text, .. } => {
                text.len()
            }
        };
        self.grow(content.saturating_add(size_of::<Part>()))?;
        self.others.push(part);
        Ok(())
    }

    /// The number of started calls.
    pub(crate) fn calls_started(&self) -> usize {
        self.calls.len()
    }

    /// Starts or continues a call.
    pub(crate) fn add_call(&mut self, piece: CallPiece<'_>, deltas: &mut Vec<Delta>) -> Result<(), ParseError> {
        self.grow(piece.id.len() + piece.name.len() + piece.input.len())?;
        self.calls.add(piece, &self.seed, deltas)
    }

    fn grow(&mut self, bytes: usize) -> Result<(), ParseError> {
        self.size_bytes = self.size_bytes.saturating_add(bytes);
        if self.size_bytes > REPLY_BYTES_MAX {
            return Err(ParseError::Unusable {
                field: "reply".into(),
                reason: format!("has more than {REPLY_BYTES_MAX} bytes"),
            });
        }
        Ok(())
    }

    /// The reply: thought, text, refusal, other parts, then the calls.
    pub(crate) fn reply(self, provider: &str) -> Result<Reply, ParseError> {
        let provider = values::label("provider", Some(provider))?;
        let mut parts = Vec::new();
        parts.extend(some(&self.thinking).map(|text| Part::Thinking { text, signature: None }));
        parts.extend(some(&self.text).map(Part::Text));
        parts.extend(some(&self.refusal).map(Part::Refusal));
        parts.extend(self.others);
        let mut facts = vec![Fact::MessageAppended(MessageAppended {
            model: self.model.clone(),
            provider: provider.clone(),
            provider_response_id: self.response_id.clone(),
            finish_reason: self.finish_reason,
            usage: self.usage,
            usage_source: UsageSource::Reported,
            ..MessageAppended::new(Role::Assistant, parts)
        })];
        for (index, call) in self.calls.finished(&self.seed).enumerate() {
            let field = format!("tool_calls[{index}]");
            let call_id = values::call_id(&format!("{field}.id"), &call.id)?;
            let tool_name = values::tool_name(&format!("{field}.name"), &call.name)?;
            facts.push(Fact::ToolCalled(ToolCalled {
                model: self.model.clone(),
                provider: provider.clone(),
                provider_response_id: self.response_id.clone(),
                ..ToolCalled::new(call_id, tool_name, values::input(&call.input))
            }));
        }
        Ok(Reply { facts })
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_at_its_bound_and_past_it() {
        let mut draft = Draft::default();
        let longest = "x".repeat(REPLY_BYTES_MAX);
        assert!(draft.add_text(&longest, &mut Vec::new()).is_ok());
        assert!(draft.add_thinking("x", &mut Vec::new()).is_err());
    }
}
