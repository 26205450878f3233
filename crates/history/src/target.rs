//! Which conversation a request reads, and how fresh.

use domain::{ConversationKey, Position};
use event_log::registry::AgentAccess;

use crate::deadline::Deadline;

/// Which conversation to read, and how fresh.
#[derive(Debug, Clone)]
pub struct Target {
    /// The caller's permission to read the agent's conversations.
    pub access: AgentAccess,
    /// The conversation.
    pub key: ConversationKey,
    /// How fresh the read must be.
    pub freshness: Freshness,
    /// The position that the read must reach: that of a write which it follows.
    pub fence: Option<Position>,
    /// How long to wait for record and rows.
    pub deadline: Deadline,
}

/// How fresh a read must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// It holds the rows and what any replica of the record knows beyond them, and at least the target's fence.
    Fresh,
    /// It holds every commit that was acknowledged before it began: the last commit is read from the stream's leader. For
    /// reads that decide on a write.
    Leader,
    /// It holds what the rows hold.
    Eventual,
}
