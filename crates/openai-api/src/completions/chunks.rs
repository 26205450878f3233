//! The chunks of a streamed completion, made from the parts of an answer.

use domain::{Fact, RunPartKind};
use runs::Outcome;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::{ASSISTANT, CompletionUsage, FUNCTION, finish_reason, usage};
use super::sent_step::SentStep;

/// What all chunks of a completion have in common.
#[derive(Debug, Clone)]
pub struct ChunkHead {
    /// The id of the completion.
    pub id: String,
    /// When it was created, in seconds.
    pub created: i64,
    /// The model, as the request named it.
    pub model: String,
    /// Whether the last chunk has the usage; then all others have `usage: null`.
    pub includes_usage: bool,
}

/// Makes the chunks of a completion from the parts of its answer. Pure.
#[derive(Debug)]
pub struct CompletionChunks {
    head: ChunkHead,
    sent: SentStep,
}

/// A chunk of a completion.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompletionChunk {
    id: String,
    object: &'static str,
    created: i64,
    model: String,
    /// One, or none in the chunk with the usage.
    choices: Vec<ChunkChoice>,
    /// Only with `stream_options.include_usage`: null, except in the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CompletionUsage>)]
    usage: Option<ChunkUsage>,
}

/// The usage in a chunk.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ChunkUsage {
    /// Null: it follows, or the model server does not report it.
    Unknown,
    Reported(CompletionUsage),
}

/// The addition to the answer.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChunkChoice {
    index: u32,
    delta: ChunkDelta,
    /// Set in the last chunk of the answer.
    finish_reason: Option<&'static str>,
    logprobs: Option<()>,
}

/// What is added.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct ChunkDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta; 1]>,
}

/// What is added to a call: its id, kind and name at first, then its input.
#[derive(Debug, Serialize, ToSchema)]
pub struct CallDelta {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    function: FunctionDelta,
}

/// What is added to a called function.
#[derive(Debug, Serialize, ToSchema)]
pub struct FunctionDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    arguments: String,
}

impl CompletionChunks {
    /// The chunks of a completion that has no parts yet.
    #[must_use]
    pub fn new(head: ChunkHead) -> Self {
        Self { head, sent: SentStep::default() }
    }

    /// The first chunk: it has the role.
    #[must_use]
    pub fn first(&self) -> CompletionChunk {
        self.head.first()
    }

    /// The chunks for a part of the answer. A complete step sends what its parts did not: an answer that must match a schema has
    /// no other parts.
    pub fn push(&mut self, part: RunPartKind) -> Vec<CompletionChunk> {
        let RunPartKind::StepFinished(facts) = part else {
            self.sent.add(&part);
            return self.head.of_part(part).into_iter().collect();
        };
        let missing = std::mem::take(&mut self.sent).missing(&facts).into_iter();
        missing.filter_map(|part| self.head.of_part(part)).collect()
    }

    /// The last chunks: the reason why the model stopped, then the usage if it is requested.
    #[must_use]
    pub fn last(&self, outcome: &Outcome, facts: &[Fact]) -> Vec<CompletionChunk> {
        self.head.last(outcome, facts)
    }
}

impl ChunkHead {
    /// The first chunk: it has the role.
    fn first(&self) -> CompletionChunk {
        self.of_delta(ChunkDelta { role: Some(ASSISTANT), content: Some(String::new()), ..ChunkDelta::default() })
    }

    /// The chunk for a part of the answer; `None`: the part adds nothing that chunks have. Thoughts are not sent.
    fn of_part(&self, part: RunPartKind) -> Option<CompletionChunk> {
        let delta = match part {
            RunPartKind::TextDelta(text) => ChunkDelta { content: Some(text), ..ChunkDelta::default() },
            RunPartKind::RefusalDelta(text) => ChunkDelta { refusal: Some(text), ..ChunkDelta::default() },
            RunPartKind::CallBegan { index, call_id, tool_name } => of_call(CallDelta {
                index,
                id: Some(call_id.as_str().to_owned()),
                r#type: Some(FUNCTION),
                function: FunctionDelta { name: Some(tool_name.as_str().to_owned()), arguments: String::new() },
            }),
            RunPartKind::CallInput { index, fragment } => of_call(CallDelta {
                index,
                id: None,
                r#type: None,
                function: FunctionDelta { name: None, arguments: fragment },
            }),
            RunPartKind::ThinkingDelta(_)
            | RunPartKind::StepFinished(_)
            | RunPartKind::ToolReturned(_)
            | RunPartKind::KeptAlive
            | RunPartKind::RunEnded(_) => return None,
        };
        Some(self.of_delta(delta))
    }

    /// The last chunks: the reason why the model stopped, then the usage if it is requested.
    fn last(&self, outcome: &Outcome, facts: &[Fact]) -> Vec<CompletionChunk> {
        let mut end = self.of_delta(ChunkDelta::default());
        for choice in &mut end.choices {
            choice.finish_reason = Some(finish_reason(outcome));
        }
        let usage = self.includes_usage.then(|| CompletionChunk {
            usage: Some(usage(facts).map_or(ChunkUsage::Unknown, ChunkUsage::Reported)),
            ..self.of_choices(Vec::new())
        });
        [end].into_iter().chain(usage).collect()
    }

    fn of_delta(&self, delta: ChunkDelta) -> CompletionChunk {
        self.of_choices(vec![ChunkChoice { index: 0, delta, finish_reason: None, logprobs: None }])
    }

    fn of_choices(&self, choices: Vec<ChunkChoice>) -> CompletionChunk {
        CompletionChunk {
            id: self.id.clone(),
            object: "chat.completion.chunk",
            created: self.created,
            model: self.model.clone(),
            choices,
            usage: self.includes_usage.then_some(ChunkUsage::Unknown),
        }
    }
}

fn of_call(call: CallDelta) -> ChunkDelta {
    ChunkDelta { tool_calls: Some([call]), ..ChunkDelta::default() }
}
