//! The read models against a real Postgres.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test may fail loudly, and a measurement prints"
)]

/// Measurements allocate as the program does.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod digest;
mod documents;
mod erasure;
mod fencing;
mod fixture;
mod forks;
mod idle;
mod large_tables;
mod latency;
mod listings;
mod logins;
mod model_usage;
mod overview;
mod parking;
mod plans;
mod pooler;
mod poolers;
mod provider_logs;
mod provider_logs_erased;
mod ranges;
mod reader_role;
mod refusals;
mod restart;
mod retention;
mod rows;
mod runs;
mod schema;
mod schemas;
mod schemas_flip;
mod schemas_structure;
mod search;
mod search_blocks;
mod search_speed;
mod several_conversations;
mod splits;
mod statistics;
mod storage;
mod table_partitions;
mod throughput;
mod usage;
mod usage_bounds;
mod usage_corrections;
mod verification;
