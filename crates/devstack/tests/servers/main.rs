//! Real servers: starts, stops, kills and failures. One binary, so that all tests share one Postgres.

#![cfg(test)]

mod databases;
mod failures;
mod lifecycle;
mod orphans;
mod probe;
mod recovery;
mod reruns;
mod standby;
