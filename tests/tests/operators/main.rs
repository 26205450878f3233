//! Operators' commands against a system that runs, as real processes.

#![cfg(test)]

mod desk;
mod parked;
mod replay;
mod status;
mod tail;
