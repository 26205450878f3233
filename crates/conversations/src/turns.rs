//! Turns: what a caller sends is recorded, and a run answers it. The run continues without its client.
//!
//! [`start_turn`] records and answers what a frontend sends, after [`permissions`] have checked it; [`given_history`] does so with a
//! whole history. Other surfaces begin a run by a [`Start`].

mod attachments;
mod first_attempt;
pub mod given_history;
pub mod last_turn;
pub mod permissions;
pub mod problems;
pub mod rewind_version;
pub mod start_turn;
pub mod turn;

pub use generation::run_parts::fits_an_event;
pub use generation::{NewConversation, PreviousTurns, RetryKey, Start, StartAt, StatelessTurn, webhook_failure};

use domain::{ConversationKey, RunId};
use history::Target;
use wire::status::Problem;

use crate::Conversations;
use crate::answer::Answer;
use crate::quotas::Quotas;
use crate::quotas::account::Account;
use generation::{RunKey, StartedRun};

impl Conversations {
    /// Starts a run. It continues in a task of its own.
    ///
    /// # Errors
    /// As [`generation::Generations::start`].
    pub async fn start(&self, start: Start) -> Result<StartedRun, Problem> {
        self.generations.start(start).await
    }

    /// A model's answer to the caller's messages, which are not recorded.
    ///
    /// # Errors
    /// As [`generation::Generations::answer_stateless`].
    pub async fn answer_stateless(&self, account: Account, turn: StatelessTurn) -> Result<Answer, Problem> {
        Ok(Answer::unrecorded(self.generations.answer_stateless(account, turn).await?))
    }

    /// The answer of a run of this conversation, from its first part.
    ///
    /// # Errors
    /// As [`Answer::of_run`].
    pub async fn answer(&self, conversation: &ConversationKey, run: RunId) -> Result<Answer, Problem> {
        Answer::of_run(&self.generations, conversation, run).await
    }

    /// Requests the stop of a run of this conversation.
    ///
    /// # Errors
    /// The writer refuses or does not answer.
    pub async fn stop(&self, target: &Target, run: RunId) -> Result<(), Problem> {
        self.generations.stop(&run_key(target, run)).await
    }

    /// Finishes a run of this conversation if its end is among its parts. Returns whether it is over now.
    pub async fn finish_if_closed(&self, target: &Target, run: RunId) -> bool {
        self.generations.finish_if_closed(&run_key(target, run)).await
    }

    /// Waits until the commit is recorded that finishes a run, at most as long as a delivery of its answer does.
    pub async fn wait_for_finish(&self, conversation: &ConversationKey, run: RunId) {
        self.generations.wait_for_finish(conversation, run).await;
    }

    /// The quotas and their usage.
    #[must_use]
    pub fn quotas(&self) -> &Quotas {
        self.generations.quotas()
    }
}

fn run_key(target: &Target, run: RunId) -> RunKey {
    RunKey { agent: target.access.agent.clone(), key: target.key.clone(), run }
}
