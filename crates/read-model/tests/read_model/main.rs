//! The read models against a real Postgres.

mod erasure;
mod fencing;
mod fixture;
mod listings;
mod parking;
mod restart;
mod rows;
mod schema;
mod splits;
mod throughput;
