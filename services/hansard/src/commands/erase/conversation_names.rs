//! Lists of conversation ids for output.

use domain::ConversationId;

/// The ids as strings.
pub(super) fn names(ids: &[ConversationId]) -> Vec<&str> {
    ids.iter().map(ConversationId::as_str).collect()
}

/// The ids as part of a sentence.
pub(super) fn listed(ids: &[ConversationId]) -> String {
    let noun = if ids.len() == 1 {
        "conversation"
    } else {
        "conversations"
    };
    format!("{noun} {}", names(ids).join(", "))
}
