//! Erasures, backups and restores by operators, through the program: what is erased is nowhere, and stays so.

#![cfg(test)]

mod drill;
mod forks;
mod ground;
mod interrupted;
mod logs;
mod real_data;
mod tenants;
mod traces;
mod unknown;
mod users;
