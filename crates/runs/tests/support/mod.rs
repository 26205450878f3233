//! Random runs, their record, and a model of the AI SDK's client.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    reason = "support of tests"
)]
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod case;
pub mod client;
pub mod record;
pub mod script;
