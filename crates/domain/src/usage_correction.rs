//! A correction of the usage of one day.

use crate::{AgentId, CommitId, Label, OwnerDigest, Timestamp};

/// What is added to counts of one day: negative numbers lower them. Corrected counts are at least 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageCorrection {
    /// The correction's id, which is also the key of its entry in the audit log. An id is counted once.
    pub id: CommitId,
    /// The agent, which determines the tenant.
    pub agent: AgentId,
    /// A time of the corrected day, in UTC.
    pub day: Timestamp,
    /// The corrected counts.
    pub counts: CorrectedCounts,
    /// What is added to them.
    pub tokens: TokenChanges,
}

/// The counts that a correction changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorrectedCounts {
    /// Model calls of the tenant and the agent, and of these.
    ModelCalls {
        /// The API key's id; `None`: the counts of keys stay.
        api_key: Option<Label>,
        /// The owner; `None`: the counts of owners stay.
        owner: Option<OwnerDigest>,
    },
    /// Recorded messages of the agent by this model; `None`: those that name no model.
    Messages {
        /// The model.
        model: Option<Label>,
    },
}

/// Signed numbers of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenChanges {
    /// Tokens that the model read.
    pub input: i64,
    /// Tokens that the model wrote.
    pub output: i64,
    /// Input tokens from the server's cache; 0 for model calls.
    pub cached: i64,
    /// Output tokens of reasoning; 0 for model calls.
    pub reasoning: i64,
}
