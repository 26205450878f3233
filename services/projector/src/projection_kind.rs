//! The projections of the record that this projector runs: each has leases, checkpoints and workers of its own.

use read_model::projections::conversations::{self, Applied, ApplyError, Batch};
use read_model::{ReadModel, projections};

/// A projection of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProjectionKind {
    /// Conversations, their events and their listings.
    Conversations,
    /// The documents of the search.
    Search,
}

/// The number of event rows that make a batch of conversations full. A large batch combines more changes of one conversation,
/// which speeds up a backlog of small commits.
const BATCH_ROWS_MAX: usize = 8_000;
/// Maximum number of event rows of a transaction of the search: each has many terms in memory.
const SEARCH_BATCH_ROWS_MAX: usize = 4_000;

impl ProjectionKind {
    /// The name in metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Conversations => "conversations",
            Self::Search => "search",
        }
    }

    /// The number of event rows that make a batch full; one commit may exceed it.
    pub(crate) fn batch_rows(self) -> usize {
        match self {
            Self::Conversations => BATCH_ROWS_MAX,
            Self::Search => SEARCH_BATCH_ROWS_MAX,
        }
    }

    /// Writes batches and their checkpoints.
    pub(crate) async fn apply(self, model: &ReadModel, batches: &[Batch]) -> Result<Applied, ApplyError> {
        match self {
            Self::Conversations => conversations::apply(model, batches).await,
            Self::Search => projections::search::apply(model, batches).await,
        }
    }
}
