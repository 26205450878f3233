//! The parts of messages and tool results.

use crate::id::Label;
use crate::json::JsonText;

/// One part of a message or a tool result. Texts are verbatim and may contain U+0000.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// A picture, by reference.
    Image {
        /// Where it is.
        source: MediaSource,
        /// Its media type, `image/png` for one.
        media_type: Option<Label>,
        /// The level of detail in the provider's terms: `low`, `high`, `auto`.
        detail: Option<Label>,
    },
    /// Any other file, by reference.
    File {
        /// Where it is.
        source: MediaSource,
        /// Its media type.
        media_type: Option<Label>,
        /// Its name, as people see it.
        filename: Option<Label>,
    },
    /// A thought of the model, with the signature that its provider needs to accept it again.
    Thinking {
        /// The thought; empty if the provider shows none.
        text: String,
        /// The provider's signature, verbatim.
        signature: Option<String>,
    },
    /// A thought that its provider encrypted, verbatim.
    RedactedThinking(String),
    /// The model's refusal.
    Refusal(String),
    /// An item of a provider without a canonical form, verbatim.
    ProviderItem {
        /// The provider: `openai`, `anthropic`, `gemini` …
        provider: Label,
        /// The item.
        item: JsonText,
    },
}

/// Where a picture or file is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MediaSource {
    /// A URL; a `data:` URL contains the content.
    Url(String),
    /// The provider's id of an uploaded file.
    FileId(String),
}
