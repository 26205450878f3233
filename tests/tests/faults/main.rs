//! Faults: real processes killed with -9, frozen and raced under load, and what is left judged by `tests::checker`.
//!
//! Every command of the load carries an idempotency key and is sent again, by another writer, until its outcome is known.
//! Each test prints what was tried, and how much of it was lost, doubled or out of order. A fault strikes once so many
//! commands have been acknowledged, and is mended once it has been felt: nothing waits for time alone.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `FAULT_ROUNDS` | 2; 20 with the feature `faults` | how often each fault strikes in its test, at least once of each kind |
//! | `FAULT_SEED` | random | the seed of what is said and when faults strike; each report tells its own |
//! | `FAULT_REPORT` | none | the file, from the repository's root, to write the table of faults, tries and findings to |
//!
//! What the machine does not permit (disks of one's own need root) is skipped, and the test says so.

#![cfg(test)]

mod asleep;
mod bits;
mod clock;
mod cluster;
mod contexts;
mod ends;
mod full_disk;
mod ground;
mod judgement;
mod kills;
mod lagging;
mod network;
mod power;
mod races;
mod retries;
mod strike;
mod table;
mod three;
mod transaction;
mod workload;
mod zombies;
