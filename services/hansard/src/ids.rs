//! Value parsers of ids and secrets for command arguments.

use std::convert::Infallible;

use domain::{ChannelId, ConversationId, TenantId, UserId};
use runtime::config::Secret;

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
#[expect(
    clippy::unnecessary_wraps,
    reason = "value parsers of clap return a result"
)]
pub(crate) fn secret(text: &str) -> Result<Secret, Infallible> {
    Ok(Secret::new(text))
}
