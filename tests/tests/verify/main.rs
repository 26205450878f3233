//! `hansard verify`, as operators run it: things are spoiled for real, named exactly, and repaired.

#![cfg(test)]

mod digests;
mod ground;
mod load;
mod record;
mod rows;
mod whole;
