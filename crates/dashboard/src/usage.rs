//! `/dashboard/usage`: tokens and ended runs of the tenant, by day, agent, model and outcome.

pub mod download_runs;
pub mod download_tokens;
mod file;
mod range;
pub mod show_usage;
mod summary;
