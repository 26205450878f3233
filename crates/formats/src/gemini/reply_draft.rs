//! Assembles a reply from its pieces.

use domain::event::{MessageAppended, Role, ToolCalled, Usage, UsageSource};
use domain::{Fact, Label, Part};

use super::PROVIDER;
use super::errors::invalid;
use super::read::{ParsedCall, ParsedPart, read_part};
use super::response::Response;
use crate::{Delta, ParseError, Reply, values};

/// An incomplete reply.
#[derive(Debug, Default)]
pub(super) struct ReplyDraft {
    parts: Vec<Part>,
    /// Whether the next part may be appended to the last one: no call follows it.
    growing: bool,
    calls: Vec<ToolCalled>,
    model: Option<Label>,
    response_id: Option<Label>,
    /// Why the model stopped; `None` while the reply is incomplete.
    pub(super) finish_reason: Option<Label>,
    usage: Option<Usage>,
    /// Whether there is a candidate.
    pub(super) has_candidate: bool,
}

impl ReplyDraft {
    /// Adds a piece. Returns its deltas.
    pub(super) fn absorb(&mut self, response: Response<'_>) -> Result<Vec<Delta>, ParseError> {
        response.check_failure()?;
        let model = values::reported(response.model_version.as_deref());
        self.model = model.or(self.model.take());
        let response_id = values::reported(response.response_id.as_deref());
        self.response_id = response_id.or(self.response_id.take());
        if let Some(counts) = response.usage_metadata {
            self.usage = Some(counts.usage());
        }
        let mut candidates = response.candidates.into_iter();
        let Some(candidate) = candidates.find(|candidate| candidate.index == 0) else {
            return Ok(Vec::new());
        };
        self.has_candidate = true;
        let reason = values::finish_reason(candidate.finish_reason.as_deref());
        self.finish_reason = reason.or(self.finish_reason.take());
        let parts = candidate.content.map(|content| content.parts);
        let mut deltas = Vec::new();
        for (at, raw) in parts.unwrap_or_default().into_iter().enumerate() {
            let field = format!("candidates[0].content.parts[{at}]");
            match read_part(raw, &field)? {
                ParsedPart::Content(parts) => {
                    for part in parts {
                        deltas.extend(delta(&part));
                        self.push_part(part);
                    }
                }
                ParsedPart::Call(call) => deltas.extend(self.call(call, &field)?),
                ParsedPart::Result(_) => return Err(invalid(format!("{field} is a result"))),
            }
        }
        Ok(deltas)
    }

    /// The facts: the message, then the calls.
    pub(super) fn reply(self) -> Reply {
        let message = Fact::MessageAppended(MessageAppended {
            model: self.model.clone(),
            provider: Label::parse(PROVIDER).ok(),
            provider_response_id: self.response_id.clone(),
            finish_reason: self.finish_reason,
            usage: self.usage,
            usage_source: UsageSource::Reported,
            ..MessageAppended::new(Role::Assistant, self.parts)
        });
        let calls = self.calls.into_iter().map(|call| {
            Fact::ToolCalled(ToolCalled {
                model: self.model.clone(),
                provider_response_id: self.response_id.clone(),
                ..call
            })
        });
        Reply { facts: std::iter::once(message).chain(calls).collect() }
    }

    /// Adds a part, or appends it to the last one. A signature ends the part that it signs.
    fn push_part(&mut self, part: Part) {
        let last = self.parts.last_mut().filter(|_| self.growing);
        self.growing = true;
        match (last, part) {
            (Some(Part::Text(text)), Part::Text(more)) => text.push_str(&more),
            (Some(Part::Thinking { text, signature: open @ None }), Part::Thinking { text: more, signature }) => {
                text.push_str(&more);
                *open = signature;
            }
            (_, part) => self.parts.push(part),
        }
    }

    fn call(&mut self, call: ParsedCall, field: &str) -> Result<[Delta; 2], ParseError> {
        self.growing = false;
        let index = self.calls.len();
        let id = call.id.unwrap_or_else(|| self.generated_id(index));
        let field = format!("{field}.functionCall.id");
        let called = ToolCalled {
            provider: Label::parse(PROVIDER).ok(),
            signature: call.signature.own(),
            ..ToolCalled::new(values::call_id(&field, &id)?, call.name, call.input)
        };
        let deltas = [
            Delta::CallBegan {
                index,
                call_id: called.call_id.as_str().to_owned(),
                tool_name: called.tool_name.as_str().to_owned(),
            },
            Delta::CallInput { index, fragment: called.input.as_str().to_owned() },
        ];
        self.calls.push(called);
        Ok(deltas)
    }

    /// Generates the id of a call. Equal replies have equal ids.
    fn generated_id(&self, index: usize) -> String {
        let Some(response_id) = &self.response_id else {
            return format!("call_{index}");
        };
        values::generated_call_id(response_id.as_str(), index)
    }
}

fn delta(part: &Part) -> Option<Delta> {
    match part {
        Part::Text(text) => Some(Delta::Text(text.clone())),
        Part::Thinking { text, .. } if !text.is_empty() => Some(Delta::Thinking(text.clone())),
        Part::Image { .. }
        | Part::File { .. }
        | Part::Thinking { .. }
        | Part::RedactedThinking(_)
        | Part::Refusal(_)
        | Part::ProviderItem { .. } => None,
    }
}
