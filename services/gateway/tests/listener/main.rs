//! The HTTP listener: rate limits and origins over real connections, and its OpenAPI description.

#![cfg(test)]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests end a test by panicking")]

mod openapi;
mod origins;
mod rates;
mod server;
