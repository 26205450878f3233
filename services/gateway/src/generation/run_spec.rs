//! What a run is made from: what was asked for, the agent's settings, and whom it counts against.

use domain::event::{MessageAppended, RunStarted};
use domain::{CallId, Position, UserId};
use event_log::registry::AgentAccess;
use history::{Deadline, Freshness, Target};

use super::RunPlace;
use super::run_key::RunKey;
use super::settings::RunSettings;
use crate::quotas::account::Account;

/// A run that is to be made.
#[derive(Debug)]
pub(super) struct Making {
    pub(super) run: RunKey,
    pub(super) started: RunStarted,
    /// Leave to read the conversation.
    pub(super) access: AgentAccess,
    /// Whom it counts against.
    pub(super) account: Account,
    pub(super) settings: RunSettings,
    /// What the model reads in place of the conversation; none: the conversation.
    pub(super) given: Option<Vec<MessageAppended>>,
    /// Calls from before that a person has approved.
    pub(super) approved: Vec<CallId>,
    /// The conversation's owner, where a token has named them.
    pub(super) verified_user: Option<UserId>,
    /// The commit that started it: its reads hold what it answers.
    pub(super) fence: Option<Position>,
    /// Its place among the runs that are made here; none: an earlier try of the same start has it.
    pub(super) _place: Option<RunPlace>,
}

impl Making {
    /// Reads of the conversation that hold at least a commit of the run's.
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
