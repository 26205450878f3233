//! The formats that there are.

use std::fmt;

/// A form in which a context is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Hansard's own.
    Canonical,
    /// OpenAI chat completions, and the many servers that speak it.
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

    /// Its name, as settings and receipts write it.
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

    /// The format of this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.as_str() == name)
    }

    /// Whose models it speaks to, as facts name a provider; none for the canonical form.
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
    fn names_are_read_back() {
        for format in Format::ALL {
            assert_eq!(Format::parse(format.as_str()), Some(format));
        }
        assert_eq!(Format::parse("openai"), None);
    }
}
