//! Value parsers of ids for command arguments.

use domain::{ChannelId, ConversationId, TenantId, UserId};

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
