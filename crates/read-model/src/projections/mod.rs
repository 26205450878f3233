//! The writes: each projection folds commits into tables of its own.

pub mod conversations;
mod holder;
pub mod provider_logs;

pub use holder::Holder;
