//! Which run, and whose.

use domain::{AgentId, CommitId, ConversationKey, RunId};
use uuid::Uuid;
use wire::proto::write::v1 as write;

/// A run and the conversation that it goes on in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The agent, which names the tenant to the writer.
    pub agent: AgentId,
    /// The conversation.
    pub key: ConversationKey,
    /// The run.
    pub run: RunId,
}

impl RunKey {
    /// Where a command goes; `key` names it for all of its retries.
    #[must_use]
    pub fn target(&self, key: Option<CommitId>) -> write::CommandTarget {
        write::CommandTarget {
            agent_id: self.agent.as_str().to_owned(),
            conversation_id: self.key.conversation.as_str().to_owned(),
            idempotency_key: key.map(|key| key.to_string()).unwrap_or_default(),
            expected_version: None,
        }
    }

    /// The commit that finishes the run: the same whoever makes it.
    #[must_use]
    pub fn finishing(&self) -> CommitId {
        CommitId(Uuid::new_v5(&self.run.0, b"finish"))
    }
}

/// The run that a caller's command starts: the same at every retry.
#[must_use]
pub fn started_by(command: CommitId) -> RunId {
    RunId(Uuid::new_v5(&command.0, b"run"))
}
