//! Conversations by their ids, for output.

use domain::ConversationId;

/// Their ids.
pub(super) fn names(ids: &[ConversationId]) -> Vec<&str> {
    ids.iter().map(ConversationId::as_str).collect()
}

/// Conversations, as a sentence names them.
pub(super) fn listed(ids: &[ConversationId]) -> String {
    let noun = if ids.len() == 1 {
        "conversation"
    } else {
        "conversations"
    };
    format!("{noun} {}", names(ids).join(", "))
}
