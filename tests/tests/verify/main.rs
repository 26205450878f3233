//! `hansard verify`, as operators run it: real damage is reported exactly, and repaired.

#![cfg(test)]

mod digests;
mod fixture;
mod intact;
mod load;
mod record;
mod rows;
