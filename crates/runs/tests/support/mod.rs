//! Random runs, the record that they stand in, and a client of the AI SDK written from its rules.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub,
    reason = "support of tests"
)]
#![allow(dead_code, reason = "each test uses its share")]

pub mod case;
pub mod client;
pub mod record;
pub mod script;
