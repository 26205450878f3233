//! Ids as commands take them.

use domain::{ConversationId, TenantId};

/// A tenant's id.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn tenant(text: &str) -> Result<TenantId, String> {
    TenantId::parse(text).map_err(|violation| violation.description)
}

/// A conversation's id.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn conversation(text: &str) -> Result<ConversationId, String> {
    ConversationId::parse(text).map_err(|violation| violation.description)
}
