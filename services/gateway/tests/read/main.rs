//! The read service over the wire, with a real record and real rows.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    clippy::match_wildcard_for_single_variants,
    clippy::indexing_slicing,
    reason = "helpers of tests end a test by panicking"
)]

mod access;
mod author;
mod client;
mod concurrent_contexts;
mod context;
mod errors;
mod events;
mod facts;
mod fence;
mod freshness;
mod gap;
mod http;
mod listing;
mod outage;
mod projection;
mod replica_latency;
mod replicas;
mod stack;
mod tokens;
mod watch;
