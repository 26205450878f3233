//! Rates and origins over real connections, around routes that know their caller's key.

#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests end a test by panicking"
)]

mod described;
mod origins;
mod rates;
mod served;
