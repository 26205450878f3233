//! Runs by real writers, projectors and gateways, with models of the test's own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::indexing_slicing,
    reason = "helpers of tests end a test by panicking"
)]

mod chat;
mod crowd;
mod endings;
mod fake_server;
mod following;
mod node;
mod stack;
mod starting;
mod summaries;
mod sweeping;
mod tools;
mod words;
