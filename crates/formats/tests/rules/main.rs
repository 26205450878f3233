//! Every format against its provider's rules: checkers written from the rules alone, random histories, and telling ones.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests end a test by panicking"
)]

mod assembly;
mod checkers;
mod growth;
mod histories;
mod losses;
mod meaning;
mod properties;
mod reading;
mod revision;
mod telling;
mod thoughts;
mod whole;
