//! The writes: each projection folds commits into tables of its own.

pub mod conversations;
pub mod provider_logs;
pub mod search;
mod search_lock;

/// The holder of a lease: the name of a projector process, unique among projectors and restarts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Holder(pub String);
