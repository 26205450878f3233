//! Which format is which module.

use context::Transcript;
use domain::Fact;

use crate::format::Format;
use crate::options::RenderOptions;
use crate::rendered::Rendered;
use crate::reply::{ParseError, Reply};
use crate::{anthropic, canonical, gemini, ollama, openai_chat, openai_responses};

/// Writes a context in a form.
#[must_use]
pub fn render(format: Format, transcript: &Transcript, options: &RenderOptions) -> Rendered {
    match format {
        Format::Canonical => canonical::render(transcript),
        Format::OpenAiChat => openai_chat::render(transcript, options),
        Format::OpenAiResponses => openai_responses::render(transcript, options),
        Format::Anthropic => anthropic::render(transcript, options),
        Format::Gemini => gemini::render(transcript, options),
        Format::Ollama => ollama::render(transcript, options),
    }
}

/// Reads the part of a request that carries the history.
///
/// # Errors
/// [`ParseError`].
pub fn parse_history(format: Format, body: &[u8]) -> Result<Vec<Fact>, ParseError> {
    match format {
        Format::Canonical => canonical::parse_history(body),
        Format::OpenAiChat => openai_chat::parse_history(body),
        Format::OpenAiResponses => openai_responses::parse_history(body),
        Format::Anthropic => anthropic::parse_history(body),
        Format::Gemini => gemini::parse_history(body),
        Format::Ollama => ollama::parse_history(body),
    }
}

/// Reads a whole reply; none: nobody replies in the canonical form.
#[must_use]
pub fn parse_reply(format: Format, body: &[u8]) -> Option<Result<Reply, ParseError>> {
    match format {
        Format::Canonical => None,
        Format::OpenAiChat => Some(openai_chat::parse_reply(body)),
        Format::OpenAiResponses => Some(openai_responses::parse_reply(body)),
        Format::Anthropic => Some(anthropic::parse_reply(body)),
        Format::Gemini => Some(gemini::parse_reply(body)),
        Format::Ollama => Some(ollama::parse_reply(body)),
    }
}
