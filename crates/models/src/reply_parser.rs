//! Parses the stream of a reply in the format of its provider, and maps its errors.

use formats::{Delta, ParseError, Reply};
use formats::{anthropic, ollama, openai_chat, openai_responses};

use crate::error::{ErrorText, ModelError};
use crate::retry::RETRY_AFTER_MS_DEFAULT;

/// Error types by which providers report an overload inside a stream.
#[rustfmt::skip]
const OVERLOADS: [&str; 4] = ["overloaded_error", "rate_limit_error", "rate_limit_exceeded", "server_overloaded"];

#[derive(Debug)]
pub(crate) enum ReplyParser {
    OpenAiChat(openai_chat::ReplyStream),
    OpenAiResponses(openai_responses::ReplyStream),
    Anthropic(anthropic::ReplyStream),
    Ollama(ollama::ReplyStream),
}

impl ReplyParser {
    /// Parses one JSON text of the stream.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<Vec<Delta>, ModelError> {
        match self {
            Self::OpenAiChat(stream) => stream.push(text),
            Self::OpenAiResponses(stream) => stream.push(text),
            Self::Anthropic(stream) => stream.push(text),
            Self::Ollama(stream) => stream.push(text),
        }
        .map_err(failure)
    }

    /// The whole reply, after the end of the stream.
    pub(crate) fn finish(self) -> Result<Reply, ModelError> {
        match self {
            Self::OpenAiChat(stream) => stream.finish(),
            Self::OpenAiResponses(stream) => stream.finish(),
            Self::Anthropic(stream) => stream.finish(),
            Self::Ollama(stream) => stream.finish(),
        }
        .map_err(failure)
    }
}

fn failure(error: ParseError) -> ModelError {
    match error {
        ParseError::Failed { error_type, .. } if OVERLOADS.contains(&error_type.as_str()) => {
            ModelError::Overloaded { retry_after_ms: RETRY_AFTER_MS_DEFAULT }
        }
        ParseError::Failed { error_type, message } => {
            ModelError::Failed { error_type, message: ErrorText::new(&message) }
        }
        ParseError::Malformed { .. } | ParseError::Unusable { .. } | ParseError::Incomplete => ModelError::Broken,
    }
}
