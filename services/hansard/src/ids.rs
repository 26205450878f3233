//! Value parsers of ids and secrets for command arguments.

use clap::builder::{StringValueParser, TypedValueParser};
use domain::{ChannelId, ConversationId, ConversationKey, TenantId, UserId};
use runtime::config::Secret;

/// The key of a conversation of a tenant.
pub(crate) fn key(tenant: &TenantId, conversation: &ConversationId) -> ConversationKey {
    ConversationKey { tenant: tenant.clone(), conversation: conversation.clone() }
}

pub(crate) fn tenant(text: &str) -> Result<TenantId, String> {
    TenantId::parse(text).map_err(|violation| violation.description)
}

pub(crate) fn conversation(text: &str) -> Result<ConversationId, String> {
    ConversationId::parse(text).map_err(|violation| violation.description)
}

pub(crate) fn user(text: &str) -> Result<UserId, String> {
    UserId::parse(text).map_err(|violation| violation.description)
}

pub(crate) fn channel(text: &str) -> Result<ChannelId, String> {
    ChannelId::parse(text).map_err(|violation| violation.description)
}

/// Wraps a text that `Debug` must not print.
pub(crate) fn secret() -> impl TypedValueParser<Value = Secret> {
    StringValueParser::new().map(Secret::new)
}
