//! The list of formats.

use std::fmt;

/// A format of contexts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Hansard's own format.
    Canonical,
    /// OpenAI chat completions, and compatible servers.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic messages.
    Anthropic,
    /// Gemini contents.
    Gemini,
    /// Ollama's `/api/chat`.
    Ollama,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 6] = [
        Self::Canonical,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Ollama,
    ];

    /// The name in settings and receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Canonical => "canonical",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The format with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// The provider, as recorded in facts; `None` for the canonical format.
    #[must_use]
    pub fn provider(self) -> Option<&'static str> {
        match self {
            Self::Canonical => None,
            Self::OpenAiChat | Self::OpenAiResponses => Some("openai"),
            Self::Anthropic => Some("anthropic"),
            Self::Gemini => Some("gemini"),
            Self::Ollama => Some("ollama"),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for format in Format::ALL {
            assert_eq!(Format::parse(format.as_str()), Some(format));
        }
        assert_eq!(Format::parse("openai"), None);
    }
}
