//! One item of a stream: what its deltas have added so far, and the events of its beginning and its end.

use domain::{CallId, ToolName};
use serde_json::{Value, json};

use super::event::{Events, ItemName};

/// What an item contains so far.
#[derive(Debug)]
pub enum Streamed {
    /// Thoughts, as a summary.
    Reasoning(String),
    /// A message.
    Message(Vec<StreamedPart>),
    /// A call.
    Call(StreamedCall),
    /// An item of another type, which has no deltas.
    Other(Value),
}

/// A part of a message.
#[derive(Debug)]
pub struct StreamedPart {
    /// What it is.
    pub kind: PartKind,
    /// What has arrived of it.
    pub text: String,
}

/// What the text of a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKind {
    /// Text.
    Text,
    /// A refusal.
    Refusal,
}

/// A call of a tool.
#[derive(Debug)]
pub struct StreamedCall {
    /// The recorded id.
    pub call_id: CallId,
    /// The tool.
    pub tool: ToolName,
    /// What has arrived of the arguments: JSON text.
    pub arguments: String,
}

impl Streamed {
    /// The type of the item.
    #[must_use]
    pub fn item_type(&self) -> &'static str {
        match self {
            Self::Reasoning(_) => "reasoning",
            Self::Message(_) => "message",
            Self::Call(_) => "function_call",
            Self::Other(_) => "other",
        }
    }

    /// The item with this status.
    pub fn item(&self, status: &str) -> Value {
        match self {
            Self::Reasoning(summary) => {
                let summary: Vec<Value> = (!summary.is_empty()).then(|| summary_part(summary)).into_iter().collect();
                json!({"type": "reasoning", "summary": summary})
            }
            Self::Message(parts) => {
                let content: Vec<Value> = parts.iter().map(StreamedPart::json).collect();
                json!({"type": "message", "role": "assistant", "status": status, "content": content})
            }
            Self::Call(call) => json!({
                "type": "function_call", "status": status, "call_id": call.call_id.as_str(),
                "name": call.tool.as_str(), "arguments": call.arguments,
            }),
            Self::Other(item) => item.clone(),
        }
    }

    /// The events of the end, before the last one, which has the whole item.
    pub fn end(&self, name: &ItemName, events: &mut Events) {
        match self {
            Self::Reasoning(text) => {
                let members = json!({"summary_index": 0, "text": text});
                events.add("response.reasoning_summary_text.done", name.with(members));
                let members = json!({"summary_index": 0, "part": summary_part(text)});
                events.add("response.reasoning_summary_part.done", name.with(members));
            }
            Self::Message(parts) => {
                for (index, part) in parts.iter().enumerate() {
                    part.end(index, name, events);
                }
            }
            Self::Call(call) => {
                let members = json!({"arguments": call.arguments, "name": call.tool.as_str()});
                events.add("response.function_call_arguments.done", name.with(members));
            }
            Self::Other(_) => {}
        }
    }
}

impl StreamedPart {
    /// A part without text.
    #[must_use]
    pub fn new(kind: PartKind) -> Self {
        Self { kind, text: String::new() }
    }

    /// The part.
    #[must_use]
    pub fn json(&self) -> Value {
        match self.kind {
            PartKind::Text => {
                json!({"type": "output_text", "text": self.text, "annotations": [], "logprobs": []})
            }
            PartKind::Refusal => json!({"type": "refusal", "refusal": self.text}),
        }
    }

    /// The event of its beginning.
    pub fn begin(&self, index: usize, name: &ItemName, events: &mut Events) {
        let members = json!({"content_index": index, "part": self.json()});
        events.add("response.content_part.added", name.with(members));
    }

    /// Adds a delta.
    pub fn push(&mut self, index: usize, delta: &str, name: &ItemName, events: &mut Events) {
        self.text.push_str(delta);
        let (event, members) = match self.kind {
            PartKind::Text => {
                ("response.output_text.delta", json!({"content_index": index, "delta": delta, "logprobs": []}))
            }
            PartKind::Refusal => ("response.refusal.delta", json!({"content_index": index, "delta": delta})),
        };
        events.add(event, name.with(members));
    }

    fn end(&self, index: usize, name: &ItemName, events: &mut Events) {
        let (event, members) = match self.kind {
            PartKind::Text => {
                ("response.output_text.done", json!({"content_index": index, "text": self.text, "logprobs": []}))
            }
            PartKind::Refusal => ("response.refusal.done", json!({"content_index": index, "refusal": self.text})),
        };
        events.add(event, name.with(members));
        let members = json!({"content_index": index, "part": self.json()});
        events.add("response.content_part.done", name.with(members));
    }
}

/// A part of a summary of thoughts.
#[must_use]
pub fn summary_part(text: &str) -> Value {
    json!({"type": "summary_text", "text": text})
}
