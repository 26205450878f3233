//! The answer of a model, as chat completions write it.

use domain::event::{MessageAppended, ToolCalled, Usage};
use domain::{Fact, Part};
use runs::Outcome;
use serde::Serialize;
use utoipa::ToSchema;

/// The name of the only kind of tool.
pub const FUNCTION: &str = "function";
/// The role of every answer.
pub const ASSISTANT: &str = "assistant";

/// A chat completion.
#[derive(Debug, Serialize, ToSchema)]
pub struct CompletionBody {
    /// Its id.
    #[schema(example = "chatcmpl-019b2f4e6a7c7d219a530d0c5b7e1f42")]
    pub id: String,
    /// Always `chat.completion`.
    pub object: &'static str,
    /// When it was requested, in seconds since 1970.
    pub created: i64,
    /// The `model` of the request.
    pub model: String,
    /// The answer.
    pub choices: [CompletionChoice; 1],
    /// The tokens, if the model server reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<CompletionUsage>,
}

/// An answer.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionChoice {
    /// Always 0.
    index: u32,
    /// The message.
    message: CompletionMessage,
    /// Why the model stopped: `stop`, `length`, `tool_calls` or `content_filter`.
    finish_reason: &'static str,
    /// Always null.
    logprobs: Option<()>,
}

/// A message of the model.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionMessage {
    /// Always `assistant`.
    role: &'static str,
    /// The text; null without one.
    content: Option<String>,
    /// The text of a refusal; null without one.
    refusal: Option<String>,
    /// The calls of tools.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CompletionCall>,
}

/// A call of a tool.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionCall {
    id: String,
    r#type: &'static str,
    function: CompletionFunction,
}

/// What a call calls.
#[derive(Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionFunction {
    /// The tool.
    name: String,
    /// The input, as JSON text.
    arguments: String,
}

/// Tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    prompt_tokens_details: PromptTokens,
    completion_tokens_details: CompletionTokens,
}

/// Tokens that the model read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PromptTokens {
    cached_tokens: u64,
}

/// Tokens that the model wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct CompletionTokens {
    reasoning_tokens: u64,
}

impl From<Usage> for CompletionUsage {
    fn from(usage: Usage) -> Self {
        Self {
            prompt_tokens: usage.input_tokens,
            completion_tokens: usage.output_tokens,
            total_tokens: usage.input_tokens.saturating_add(usage.output_tokens),
            prompt_tokens_details: PromptTokens { cached_tokens: usage.cached_tokens },
            completion_tokens_details: CompletionTokens { reasoning_tokens: usage.reasoning_tokens },
        }
    }
}

/// The answer of a reply's facts.
pub fn choice(outcome: &Outcome, facts: &[Fact]) -> CompletionChoice {
    let AnswerTexts { content, refusal } = texts(facts);
    CompletionChoice {
        index: 0,
        message: CompletionMessage {
            role: ASSISTANT,
            content,
            refusal,
            tool_calls: calls(facts).map(CompletionCall::from).collect(),
        },
        finish_reason: finish_reason(outcome),
        logprobs: None,
    }
}

/// The texts of an answer; `None`: it has no such text.
#[derive(Debug, Default)]
pub struct AnswerTexts {
    /// The text.
    pub content: Option<String>,
    /// The text of a refusal.
    pub refusal: Option<String>,
}

/// The texts of a reply's facts.
#[must_use]
pub fn texts(facts: &[Fact]) -> AnswerTexts {
    let mut texts = AnswerTexts::default();
    for part in messages(facts).flat_map(|message| &message.parts) {
        match part {
            Part::Text(text) => texts.content.get_or_insert_default().push_str(text),
            Part::Refusal(text) => texts.refusal.get_or_insert_default().push_str(text),
            Part::Thinking { .. }
            | Part::RedactedThinking(_)
            | Part::Image { .. }
            | Part::File { .. }
            | Part::ProviderItem { .. } => {}
        }
    }
    texts
}

/// The tokens, if the model server reports them.
pub fn usage(facts: &[Fact]) -> Option<CompletionUsage> {
    Usage::reported(facts).map(CompletionUsage::from)
}

/// Why the model stopped, in OpenAI's terms. It has none for a stopped answer: a client reads what there is.
#[must_use]
pub fn finish_reason(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::WaitsForCalls => "tool_calls",
        Outcome::CutByTokenLimit => "length",
        Outcome::Refused => "content_filter",
        Outcome::Completed | Outcome::Stopped | Outcome::Failed(_) | Outcome::Abandoned | Outcome::Interrupted(_) => {
            "stop"
        }
    }
}

impl From<&ToolCalled> for CompletionCall {
    fn from(call: &ToolCalled) -> Self {
        Self {
            id: call.call_id.as_str().to_owned(),
            r#type: FUNCTION,
            function: CompletionFunction {
                name: call.tool_name.as_str().to_owned(),
                arguments: call.input.as_str().to_owned(),
            },
        }
    }
}

fn messages(facts: &[Fact]) -> impl Iterator<Item = &MessageAppended> {
    facts.iter().filter_map(|fact| match fact {
        Fact::MessageAppended(message) => Some(message),
        Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
    })
}

/// The calls of a reply's facts.
pub fn calls(facts: &[Fact]) -> impl Iterator<Item = &ToolCalled> {
    facts.iter().filter_map(|fact| match fact {
        Fact::ToolCalled(call) => Some(call),
        Fact::MessageAppended(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
    })
}
