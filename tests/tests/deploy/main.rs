//! Tests of `deploy/`: every file is parsed and checked, and run where this machine can.

#![cfg(test)]

mod archive;
mod cluster;
mod compose;
mod documents;
mod images;
mod kubernetes;
mod logins;
mod matrix;
mod metrics;
mod nats;
mod permissions;
mod postgres;
mod push_consumers;
mod roles;
mod systemd;
mod urls;
