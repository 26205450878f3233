//! What a provider's form cannot carry as it was.

use domain::Version;

/// Something of a turn that the form could not carry as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loss {
    /// The version of the turn, of the call, or of the call whose result it concerns.
    pub version: Version,
    /// What it is.
    pub lost: Lost,
    /// What stands in its place.
    pub became: Became,
}

/// What a form could not carry as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lost {
    /// A thought: another provider's, or one without the signature that its provider asks for.
    Thinking,
    /// The signature of a thought that itself is carried.
    ThinkingSignature,
    /// An encrypted thought of another provider.
    RedactedThinking,
    /// The signature of a call.
    CallSignature,
    /// A refusal.
    Refusal,
    /// A picture.
    Image,
    /// How closely a picture should be looked at.
    ImageDetail,
    /// A file.
    File,
    /// Another provider's own item.
    ProviderItem,
    /// The speaker's name.
    Author,
    /// The place of instructions given in the middle of the conversation.
    InstructionsPlace,
    /// An input that is no JSON object.
    InputForm,
    /// That a tool failed.
    Outcome,
    /// The order of a turn's parts.
    PartOrder,
}

/// What stands in its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Became {
    /// Nothing.
    Nothing,
    /// A text.
    Text,
    /// The same content in another form or place.
    OtherForm,
}

impl Lost {
    /// Its name, as receipts write it.
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

impl Became {
    /// Its name, as receipts write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Text => "text",
            Self::OtherForm => "other_form",
        }
    }
}
