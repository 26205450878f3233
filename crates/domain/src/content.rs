//! What a message or a tool result is made of.

use crate::id::Label;
use crate::json::JsonText;

/// One part of a message or a tool result. Texts are verbatim and may hold U+0000.
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
        /// How closely the model should look, in the provider's words: `low`, `high`, `auto`.
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
    /// What the model thought, with the signature that lets its provider take it back.
    Thinking {
        /// The thought; empty where the provider shows none.
        text: String,
        /// The provider's signature, verbatim.
        signature: Option<String>,
    },
    /// A thought that its provider handed out encrypted, verbatim.
    RedactedThinking(String),
    /// The model's refusal, in its words.
    Refusal(String),
    /// A provider's own item with no canonical form, verbatim.
    ProviderItem {
        /// Whose it is: `openai`, `anthropic`, `gemini` …
        provider: Label,
        /// The item.
        item: JsonText,
    },
}

/// Where a picture or file is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MediaSource {
    /// An address; `data:` addresses carry the content itself.
    Url(String),
    /// An id at the provider that keeps the file.
    FileId(String),
}
