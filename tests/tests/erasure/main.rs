//! Erasures, backups and restores by operators, with the program: erased texts are nowhere, and are not restored.

#![cfg(test)]

mod cli;
mod drill;
mod forks;
mod killed_writer;
mod logs;
mod real_data;
mod tenants;
mod traces;
mod unknown_targets;
mod users;
