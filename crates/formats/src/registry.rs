//! Dispatches to the module of a format.

use context::Transcript;
use domain::Fact;

use crate::format::Format;
use crate::options::RenderOptions;
use crate::rendered::Rendered;
use crate::reply::{ParseError, Reply};
use crate::{anthropic, canonical, gemini, ollama, openai_chat, openai_responses};

/// Renders a context in a format.
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

/// Parses the history in a request.
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

/// Parses a whole reply; `None` for the canonical format, which has no replies.
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
