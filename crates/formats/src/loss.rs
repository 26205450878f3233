//! Content that a format cannot represent unchanged.

use std::borrow::Cow;

use domain::{Label, Part, Version};

/// Content of a turn that was changed or omitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss {
    /// The version of the turn or the call. For a result, the version of its call.
    pub version: Version,
    /// The lost content.
    pub lost: LostContent,
    /// Its replacement.
    pub replacement: Replacement,
}

/// A kind of content that a format cannot represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LostContent {
    /// A thought of another provider, or without the signature that its provider requires.
    Thinking,
    /// The signature of a thought that is rendered.
    ThinkingSignature,
    /// An encrypted thought of another provider.
    RedactedThinking,
    /// The signature of a call.
    CallSignature,
    /// A refusal.
    Refusal,
    /// An image.
    Image,
    /// The detail level of an image.
    ImageDetail,
    /// A file.
    File,
    /// An item of another provider.
    ProviderItem,
    /// The name of the author.
    Author,
    /// The position of instructions within the conversation.
    InstructionsPlace,
    /// An input that is not a JSON object.
    InputForm,
    /// The failure of a tool.
    Outcome,
    /// The order of a turn's parts.
    PartOrder,
}

/// The replacement of lost content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Replacement {
    /// Nothing.
    Nothing,
    /// A text.
    Text,
    /// The same content in another form or at another position.
    OtherForm,
}

impl LostContent {
    /// The name in receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Thinking => "thinking",
            Self::ThinkingSignature => "thinking_signature",
            Self::RedactedThinking => "redacted_thinking",
            Self::CallSignature => "call_signature",
            Self::Refusal => "refusal",
            Self::Image => "image",
            Self::ImageDetail => "image_detail",
            Self::File => "file",
            Self::ProviderItem => "provider_item",
            Self::Author => "author",
            Self::InstructionsPlace => "instructions_place",
            Self::InputForm => "input_form",
            Self::Outcome => "outcome",
            Self::PartOrder => "part_order",
        }
    }
}

impl Replacement {
    /// [`Replacement::Text`] if there is one, otherwise [`Replacement::Nothing`].
    pub(crate) fn by_text<T>(text: Option<&T>) -> Self {
        text.map_or(Self::Nothing, |_| Self::Text)
    }

    /// The name in receipts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Text => "text",
            Self::OtherForm => "other_form",
        }
    }
}

/// What is lost if a part that is not a text becomes one, and the text: the content, or a placeholder. `None` for a part
/// without text.
pub(crate) fn text_form(part: &Part) -> (LostContent, Option<Cow<'_, str>>) {
    match part {
        Part::Text(text) | Part::Refusal(text) => (LostContent::Refusal, Some(text.into())),
        Part::Image { media_type, .. } => {
            let placeholder = placeholder("image", media_type.as_ref());
            (LostContent::Image, Some(placeholder.into()))
        }
        Part::File { media_type, filename, .. } => {
            let placeholder = placeholder("file", filename.as_ref().or(media_type.as_ref()));
            (LostContent::File, Some(placeholder.into()))
        }
        Part::Thinking { .. } => (LostContent::Thinking, None),
        Part::RedactedThinking(_) => (LostContent::RedactedThinking, None),
        Part::ProviderItem { .. } => (LostContent::ProviderItem, None),
    }
}

/// The placeholder of media, with its name or media type.
pub(crate) fn placeholder(kind: &str, name: Option<&Label>) -> String {
    match name {
        Some(name) => format!("[{kind}: {name}]"),
        None => format!("[{kind}]"),
    }
}
