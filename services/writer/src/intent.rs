//! What a caller asks of a conversation: the command, and for whom.

use domain::{Command, ConversationKey, ForkPoint, RequestDigest};
use event_log::registry::AgentAccess;

/// A command on its way to the record.
#[derive(Debug)]
pub struct Intent {
    /// For whom.
    pub access: AgentAccess,
    /// Which conversation.
    pub key: ConversationKey,
    /// Whether the commit's id is the caller's idempotency key, which an earlier try may have used.
    pub has_key: bool,
    /// The path of that key in the request.
    pub key_field: &'static str,
    /// What was asked, in short.
    pub request_digest: RequestDigest,
    /// What should happen.
    pub command: Command,
    /// From where a conversation that is to begin goes on, as the caller names it: its depth is not known yet.
    pub forks: Option<ForkPoint>,
}
