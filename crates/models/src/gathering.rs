//! A reply as far as it has come, in its provider's format; and what its failures mean.

use formats::{Delta, ParseError, Reply};
use formats::{anthropic, ollama, openai_chat, openai_responses};

use crate::error::{ErrorText, ModelError};
use crate::retry::RETRY_AFTER_MS_DEFAULT;

/// How providers name that they take no more requests, where a stream's status could not say so.
const OVERLOADS: [&str; 4] = [
    "overloaded_error",
    "rate_limit_error",
    "rate_limit_exceeded",
    "server_overloaded",
];

/// A reply that comes in pieces.
#[derive(Debug)]
pub(crate) enum Gathering {
    OpenAiChat(openai_chat::ReplyStream),
    OpenAiResponses(openai_responses::ReplyStream),
    Anthropic(anthropic::ReplyStream),
    Ollama(ollama::ReplyStream),
}

impl Gathering {
    /// Takes one JSON text of the stream.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<Vec<Delta>, ModelError> {
        match self {
            Self::OpenAiChat(stream) => stream.push(text),
            Self::OpenAiResponses(stream) => stream.push(text),
            Self::Anthropic(stream) => stream.push(text),
            Self::Ollama(stream) => stream.push(text),
        }
        .map_err(failure)
    }

    /// The whole reply, once the stream has ended.
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
            ModelError::Overloaded {
                retry_after_ms: RETRY_AFTER_MS_DEFAULT,
            }
        }
        ParseError::Failed {
            error_type,
            message,
        } => ModelError::Failed {
            error_type,
            message: ErrorText::new(&message),
        },
        ParseError::Malformed { .. } | ParseError::Unusable { .. } | ParseError::Incomplete => {
            ModelError::Broken
        }
    }
}
