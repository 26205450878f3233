//! Messages that callers append, as JSON.

use domain::Violation;
use serde::Deserialize;
use utoipa::ToSchema;
use wire::proto::event::v1 as proto;
use wire::proto::event::v1::part::Kind;

use super::new_part::{NewPartBody, parts, required, violation};

/// A message to append.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewMessageBody {
    /// The role, required.
    #[schema(inline)]
    pub(super) role: Option<RoleName>,
    /// The message as text, instead of `parts`.
    pub(super) content: Option<String>,
    /// The parts, in order, at most 1,000.
    pub(super) parts: Option<Vec<NewPartBody>>,
    /// The name of the speaker.
    pub(super) author: Option<String>,
    /// The model that wrote it.
    pub(super) model: Option<String>,
    /// The provider of the model. Reasoning and signatures are sent back only to it.
    pub(super) provider: Option<String>,
    /// The provider's id of the response.
    pub(super) provider_response_id: Option<String>,
    /// Why the model stopped.
    pub(super) finish_reason: Option<String>,
    /// The tokens of the response.
    pub(super) usage: Option<NewUsageBody>,
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoleName {
    /// The person or program that the agent serves.
    User,
    /// The model.
    Assistant,
    /// Instructions.
    System,
    /// Instructions, as newer models name them.
    Developer,
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "names of counts say what is counted")]
pub(super) struct NewUsageBody {
    /// Tokens read, including cached ones.
    input_tokens: u64,
    /// Tokens written, including reasoning.
    output_tokens: u64,
    /// Tokens read from the provider's cache.
    cached_tokens: u64,
    /// Tokens of reasoning.
    reasoning_tokens: u64,
}

impl NewMessageBody {
    /// The message as the services take it.
    ///
    /// # Errors
    /// A member is missing or malformed.
    pub fn into_proto(self) -> Result<proto::MessageAppended, Violation> {
        let role = match required(self.role, "role")? {
            RoleName::User => proto::Role::User,
            RoleName::Assistant => proto::Role::Assistant,
            RoleName::System => proto::Role::System,
            RoleName::Developer => proto::Role::Developer,
        };
        let parts = match (self.content, self.parts) {
            (None, given) => parts(given.unwrap_or_default(), "parts")?,
            (Some(text), None) => vec![proto::Part { kind: Some(Kind::Text(text)) }],
            (Some(_), Some(_)) => {
                let detail = "is given beside content: send one of them";
                return Err(violation(detail).within("parts"));
            }
        };
        Ok(proto::MessageAppended {
            role: role.into(),
            parts,
            author: self.author.unwrap_or_default(),
            model: self.model.unwrap_or_default(),
            provider_response_id: self.provider_response_id.unwrap_or_default(),
            finish_reason: self.finish_reason.unwrap_or_default(),
            usage: self.usage.map(|usage| proto::Usage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cached_tokens: usage.cached_tokens,
                reasoning_tokens: usage.reasoning_tokens,
            }),
            provider: self.provider.unwrap_or_default(),
            usage_source: proto::UsageSource::Unspecified.into(),
        })
    }
}
