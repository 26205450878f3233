//! The read models against a real Postgres.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly, and a measurement prints"
)]

mod erasure;
mod fencing;
mod fixture;
mod latency;
mod listings;
mod parking;
mod ranges;
mod restart;
mod rows;
mod schema;
mod splits;
mod throughput;
