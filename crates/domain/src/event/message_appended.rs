//! Someone said something.

use crate::content::Part;
use crate::id::Label;

/// A message by a user, the assistant, or whoever instructs it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageAppended {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order. Empty for an assistant's turn of tool calls alone.
    pub parts: Vec<Part>,
    /// The speaker's name, where several share a role.
    pub author: Option<Label>,
    /// The model that wrote it.
    pub model: Option<Label>,
    /// Whose model it was, as `formats` names its providers: only they take back thoughts and signatures of their own.
    pub provider: Option<Label>,
    /// The provider's id of the response that it came with.
    pub provider_response_id: Option<Label>,
    /// Why the model stopped, in the provider's words.
    pub finish_reason: Option<Label>,
    /// What the response cost.
    pub usage: Option<Usage>,
}

impl MessageAppended {
    /// A message of which nothing is known but who speaks and what is said.
    #[must_use]
    pub fn said(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            author: None,
            model: None,
            provider: None,
            provider_response_id: None,
            finish_reason: None,
            usage: None,
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person, or the program, that the assistant serves.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, as newer models name them.
    Developer,
}

impl Role {
    /// Every role, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::User, Self::Assistant, Self::System, Self::Developer];

    /// The code that rows keep. Stable for ever.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::User => 1,
            Self::Assistant => 2,
            Self::System => 3,
            Self::Developer => 4,
        }
    }

    /// The role as providers write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
            Self::Developer => "developer",
        }
    }
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Usage {
    /// Tokens read, cached ones among them.
    pub input_tokens: u64,
    /// Tokens written, reasoning ones among them.
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens thought.
    pub reasoning_tokens: u64,
}
