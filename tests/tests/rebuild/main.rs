//! `hansard rebuild` of a live system, with the program, and with writers and readers that are not affected.

#![cfg(test)]

mod erasure;
mod fixture;
mod interruptions;
mod live_traffic;
mod load;
mod speed;
