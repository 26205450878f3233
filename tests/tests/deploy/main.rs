//! What `deploy/` ships: every file is read and checked, what can run here runs.

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
mod roles;
mod systemd;
