//! A command with its caller and its conversation.

use domain::{Command, ConversationKey, ForkPoint, RequestDigest};
use event_log::registry::AgentAccess;

/// A command to execute.
#[derive(Debug)]
pub struct Intent {
    /// The access of the caller.
    pub access: AgentAccess,
    /// The conversation.
    pub key: ConversationKey,
    /// Whether the commit id is an idempotency key of the caller, which an earlier attempt may have used.
    pub has_key: bool,
    /// The path of that key in the request.
    pub key_field: &'static str,
    /// The digest of the request.
    pub request_digest: RequestDigest,
    /// The command.
    pub command: Command,
    /// The fork point of a new conversation as the caller names it; it may be in an ancestor of that conversation.
    pub fork_from: Option<ForkPoint>,
}
