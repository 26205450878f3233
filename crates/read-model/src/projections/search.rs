//! The projection `search`: documents of events and titles, as terms.
//!
//! [`apply()`] writes the documents of a batch of commits and its checkpoint in one transaction. Leases and checkpoints are those of
//! [`super::conversations::lease`], in a schema of their own: use a handle of [`crate::ReadModel::for_search`]. [`reindex_step`]
//! replaces the documents of an agent from the rows of its events after its settings have changed, or on an operator's request.
//! [`fill_step`] makes the filters of blocks whose documents have changed. [`verification`] compares documents with the rows of
//! events. The projection of conversations deletes the documents of erased conversations; a lock orders both, so that no document
//! outlives its conversation.

mod agents;
mod apply;
mod blocks;
mod document_row;
mod filters;
mod forget;
mod keys;
mod overview;
mod placement;
mod reindex;
mod rows;
mod stored;
pub mod verification;

pub use agents::{AGENTS_PER_CALL_MAX, AgentSearch, reindexing_agents, request_reindex, set_agents};
pub use apply::apply;
pub use filters::fill_step;
pub use forget::forget;
pub use overview::{SearchOverview, search_overview};
pub use reindex::{REINDEXED_EVENTS_PER_STEP_MAX, ReindexStep, ReindexTurn, reindex_step};
