//! Operator commands against a running system, as real processes.

#![cfg(test)]

mod balance;
mod operator_cli;
mod parked;
mod partitions;
mod replay;
mod restarts;
mod shards;
mod status;
mod tail;
