//! Runs by real writers, projectors and gateways, with scripted models.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::indexing_slicing,
    reason = "helpers of tests end a test by panicking"
)]

mod chat;
mod concurrent_runs;
mod endings;
mod fake_server;
mod followers;
mod node;
mod stack;
mod starts;
mod summaries;
mod sweeps;
mod texts;
mod webhooks;
