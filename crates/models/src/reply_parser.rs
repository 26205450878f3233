//! Parses the stream of a reply in the format of its provider, and maps its errors.

use domain::surrogates;
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
    /// Parses one JSON text of the stream. Some servers cut a surrogate pair between two texts, or write half of one: the halves become
    /// U+FFFD.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<Vec<Delta>, ModelError> {
        let text = &*surrogates::without_unpaired(text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_that_is_cut_between_two_texts_is_two_replacements() {
        let mut parser = ReplyParser::OpenAiChat(openai_chat::ReplyStream::default());
        let chunk = |text: &str| format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{text}"}}}}]}}"#);
        let texts = ["a\\ud83d", "\\ude00b", "\\ud83d\\ude00"];
        let deltas = texts.map(|text| parser.push(chunk(text).as_bytes()).unwrap());
        let expected = ["a\u{fffd}", "\u{fffd}b", "\u{1f600}"].map(|text| vec![Delta::Text(text.to_owned())]);
        assert_eq!(deltas, expected);
    }
}
