//! The key of a run, and its specification.

use domain::event::RunStarted;
use domain::{AgentId, CallId, CommitId, ConversationKey, Fact, Position, RunId, UserId};
use formats::RequestSettings;
use history::{Deadline, Freshness, Target};
use wire::proto::write::v1::CommandTarget;

use super::{RunPermit, RunSettings};
use crate::quotas::account::Account;
use record_access::commands::command_target;

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
        command_target(&self.agent, &self.key.conversation, key)
    }
}

/// The specification of a run.
#[derive(Debug)]
pub(super) struct RunSpec {
    pub(super) run: RunKey,
    pub(super) started: RunStarted,
    pub(super) account: Account,
    pub(super) settings: RunSettings,
    /// What the model reads instead of the conversation; `None`: the conversation.
    pub(super) history: Option<Vec<Fact>>,
    /// What the request sets instead of the agent's settings; `None`: nothing.
    pub(super) request: Option<RequestSettings>,
    /// Open calls that a person has approved.
    pub(super) approved_calls: Vec<CallId>,
    /// The conversation's owner, if a token has named them.
    pub(super) verified_user: Option<UserId>,
    /// The position of the starting commit: reads of the run must include it.
    pub(super) fence: Option<Position>,
    /// `None`: an earlier attempt of the same start holds the permit.
    pub(super) _permit: Option<RunPermit>,
}

impl RunSpec {
    /// The target of reads that include the position `fence`.
    pub(super) fn target(&self, fence: Option<Position>) -> Target {
        Target {
            access: self.account.access.clone(),
            key: self.run.key.clone(),
            freshness: Freshness::Fresh,
            fence,
            deadline: Deadline::until(None),
        }
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
        run: RunId(uuid::Uuid::nil()),
    }
}
