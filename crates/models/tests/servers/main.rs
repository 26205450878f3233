//! Clients of model servers against fake TCP servers that send what a test defines, byte by byte.
#![cfg(test)]
#![expect(clippy::wildcard_enum_match_arm, reason = "an unexpected variant fails a test")]

mod bounds;
mod breaker;
mod echo;
mod exchanges;
mod failures;
mod fake;
mod replies;
mod requests;
mod streams;
mod telemetry;
mod timeouts;
