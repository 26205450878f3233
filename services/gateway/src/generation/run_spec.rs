//! The specification of a run: the request, the agent's settings, and the account that it counts against.

use domain::event::{MessageAppended, RunStarted};
use domain::{CallId, Position, UserId};
use event_log::registry::AgentAccess;
use history::{Deadline, Freshness, Target};

use super::RunPermit;
use super::run_key::RunKey;
use super::settings::RunSettings;
use crate::quotas::account::Account;

/// The specification of a run.
#[derive(Debug)]
pub(super) struct RunSpec {
    pub(super) run: RunKey,
    pub(super) started: RunStarted,
    /// The right to read the conversation.
    pub(super) access: AgentAccess,
    /// The account that it counts against.
    pub(super) account: Account,
    pub(super) settings: RunSettings,
    /// The messages that the model reads instead of the conversation; `None`: the conversation.
    pub(super) messages: Option<Vec<MessageAppended>>,
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
            access: self.access.clone(),
            key: self.run.key.clone(),
            freshness: Freshness::Fresh,
            fence,
            deadline: Deadline::until(None),
        }
    }
}
