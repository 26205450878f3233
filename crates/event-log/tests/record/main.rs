//! The record against real servers.
#![cfg(test)]

mod appends;
mod archives;
mod catalogue;
mod cluster;
mod elections;
mod erasures;
mod follows;
mod group_commits;
mod growth;
mod large_reads;
mod last_commits;
mod lives;
mod logs;
mod lookups;
mod partitions;
mod parts;
mod proxy;
mod rates;
mod receipt_keys;
mod replays;
mod replicated_rates;
mod resolution;
mod server_time;
mod support;
mod tails;
mod topology;
