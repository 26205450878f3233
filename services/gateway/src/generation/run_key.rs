//! The key of a run, and the ids that are derived from it.

use domain::{AgentId, CommitId, ConversationKey, RunId};
use uuid::Uuid;
use wire::proto::write::v1::CommandTarget;

use crate::writer::command_target;

/// A run and its conversation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The agent; its id determines the tenant.
    pub agent: AgentId,
    /// The conversation.
    pub key: ConversationKey,
    /// The run.
    pub run: RunId,
}

impl RunKey {
    /// The target of a command; `key` is its idempotency key.
    #[must_use]
    pub fn target(&self, key: Option<CommitId>) -> CommandTarget {
        let key = key.map(|key| key.to_string()).unwrap_or_default();
        command_target(&self.agent, &self.key.conversation, key)
    }

    /// The id of the finishing commit. Every gateway derives the same id.
    #[must_use]
    pub fn finish_commit(&self) -> CommitId {
        CommitId(Uuid::new_v5(&self.run.0, b"finish"))
    }
}

/// A run for tests.
#[cfg(test)]
pub(super) fn test_run() -> RunKey {
    RunKey {
        agent: AgentId::parse("a").unwrap(),
        key: ConversationKey {
            tenant: domain::TenantId::parse("t").unwrap(),
            conversation: domain::ConversationId::parse("c").unwrap(),
        },
        run: RunId(Uuid::nil()),
    }
}

/// The id of the run that a command starts. Retries derive the same id.
#[must_use]
pub fn run_started_by(command: CommitId) -> RunId {
    RunId(Uuid::new_v5(&command.0, b"run"))
}
