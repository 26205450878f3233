//! The writes: each projection folds the record into tables of its own.

pub mod conversations;
pub mod provider_logs;
