//! The stages: tables in a small notation, and properties over random histories.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "helpers of tests end a test by panicking"
)]

mod bounds;
mod digest;
mod digest_templates;
mod documented;
mod growth;
mod notation;
mod own_instructions;
mod plan;
mod prefix;
mod redaction;
mod secrets;
mod select;
mod select_properties;
mod thoughts;
