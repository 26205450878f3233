//! Faults: real processes killed with -9, frozen and raced under load, and what is left judged by `tests::checker`.
//!
//! Every command of the load carries an idempotency key and is sent again, by another writer, until its outcome is known.
//! Each test prints what was tried, and how much of it was lost, doubled or out of order. A fault strikes once so many
//! commands have been acknowledged, and is mended once it has been felt: nothing waits for time alone.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `FAULT_ROUNDS` | 2 | how often each fault strikes in its test |
//! | `FAULT_SEED` | random | the seed of what is said and when faults strike; each report tells its own |

#![cfg(test)]

mod contexts;
mod ground;
mod judgement;
mod kills;
mod races;
mod retries;
mod strike;
mod workload;
mod zombies;
