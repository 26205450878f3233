//! Clients of model servers against servers that answer over TCP what a test says, byte by byte.
#![cfg(test)]
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "what a test does not look for ends it"
)]

mod asking;
mod bounds;
mod breaker;
mod echo;
mod exchanges;
mod failures;
mod fake;
mod replies;
mod streams;
mod telemetry;
mod times;
