//! The record against real servers.
#![cfg(test)]

mod administration;
mod appends;
mod archives;
mod catalogue;
mod cluster;
mod elections;
mod erasures;
mod follows;
mod frontends;
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
mod registry;
mod replays;
mod replicated_rates;
mod resolution;
mod sealing;
mod server_time;
mod support;
mod tails;
mod tenant_secrets;
mod topology;
