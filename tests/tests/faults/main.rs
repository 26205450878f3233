//! Faults: real processes are killed with -9, frozen and raced under load; `tests::checker` checks the result.
//!
//! Every command of the load has an idempotency key and is sent again, to another writer, until its outcome is known.
//! Each test prints the calls, and how many commits were lost, duplicated or out of order. A fault is injected after a
//! number of acknowledgements and ends after its effect is observed; no test only waits for time.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `FAULT_ROUNDS` | 2; 20 with the feature `faults` | how often each fault is injected in its test, at least once of
//! each kind |
//! | `FAULT_SEED` | random | the seed of contents and times of faults; each report has its seed |
//! | `FAULT_REPORT` | none | the file, from the repository's root, to write the table of faults, tries and findings to |
//! | `FAULT_LAST_RELEASE` | none | the program of the last release, which `.ci/last-release` makes; empty: there is none, and the test of upgrades is skipped |
//! | `FAULT_FAKETIME` | Debian's path | the library that moves the clock of a process |
//! | `CI` | none | `true`: a test without a tool that `.ci/run` provides fails |
//!
//! Tests without the permissions that they need (their own disks need root) are skipped, and so are tests without a tool outside of
//! CI: a line of the output and the table of faults say so and why.

#![cfg(test)]

mod bit_flips;
mod clock;
mod cluster;
mod contexts;
mod failover;
mod faketime;
mod fixture;
mod frozen_roles;
mod full_disk;
mod growth;
mod injection;
mod kills;
mod lagging_follower;
mod network;
mod operations;
mod power_loss;
mod races;
mod replaced_record;
mod retries;
mod stream_ends;
mod table;
mod three_servers;
mod transaction;
mod upgrade;
mod verdict;
mod workload;
mod wrong_clocks;
mod zombies;
