//! A message was appended.

use super::Fact;
use crate::content::Part;
use crate::id::Label;

/// A message of a user, of the assistant, or with instructions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct MessageAppended {
    /// The author's role.
    pub role: Role,
    /// Its content, in order. Empty if the assistant only calls tools.
    pub parts: Vec<Part>,
    /// The author's name, if several share a role.
    pub author: Option<Label>,
    /// The model that wrote it.
    pub model: Option<Label>,
    /// The provider of the model, by its name in `formats`: only it accepts its own thoughts and signatures again.
    pub provider: Option<Label>,
    /// The provider's id of the response.
    pub provider_response_id: Option<Label>,
    /// Why the model stopped, in the provider's terms.
    pub finish_reason: Option<Label>,
    /// The tokens of the response.
    pub usage: Option<Usage>,
    /// Where `usage` comes from.
    pub usage_source: UsageSource,
}

impl MessageAppended {
    /// A message with nothing but its role and content.
    #[must_use]
    pub fn new(role: Role, parts: Vec<Part>) -> Self {
        Self {
            role,
            parts,
            author: None,
            model: None,
            provider: None,
            provider_response_id: None,
            finish_reason: None,
            usage: None,
            usage_source: UsageSource::Reported,
        }
    }
}

/// The role of a message's author.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The person or program that the assistant serves.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, for newer models of OpenAI.
    Developer,
}

impl Role {
    /// Every role, in the order of their codes.
    pub const ALL: [Self; 4] = [Self::User, Self::Assistant, Self::System, Self::Developer];

    /// The code that rows contain. It never changes.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::User => 1,
            Self::Assistant => 2,
            Self::System => 3,
            Self::Developer => 4,
        }
    }

    /// The name of the role at providers.
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

/// Token counts of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Usage {
    /// Tokens read, including cached ones.
    pub input_tokens: u64,
    /// Tokens written, including reasoning ones.
    pub output_tokens: u64,
    /// Tokens read from the provider's cache.
    pub cached_tokens: u64,
    /// Tokens of reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// The tokens that the messages of a reply report; `None`: they report none.
    #[must_use]
    pub fn reported(facts: &[Fact]) -> Option<Self> {
        let usages = facts.iter().filter_map(|fact| match fact {
            Fact::MessageAppended(message) => message.usage,
            Fact::ToolCalled(_) | Fact::ToolReturned(_) | Fact::Annotation(_) | Fact::Lifecycle(_) => None,
        });
        usages.reduce(|sum, usage| Self {
            input_tokens: sum.input_tokens.saturating_add(usage.input_tokens),
            output_tokens: sum.output_tokens.saturating_add(usage.output_tokens),
            cached_tokens: sum.cached_tokens.saturating_add(usage.cached_tokens),
            reasoning_tokens: sum.reasoning_tokens.saturating_add(usage.reasoning_tokens),
        })
    }
}

/// Where token counts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UsageSource {
    /// The provider reported them.
    #[default]
    Reported,
    /// They are an estimate from bytes: the provider reported more than can be true.
    Estimated,
}
