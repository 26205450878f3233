//! Checks every format against the rules of its provider: independent checkers, random histories, and readable snapshots.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "test helpers fail a test by panicking"
)]

mod assembly;
mod bounds;
mod checkers;
mod growth;
mod histories;
mod losses;
mod meaning;
mod omissions;
mod properties;
mod reading;
mod revision;
mod sections;
mod telling;
mod thoughts;
mod usage;
mod whole;
