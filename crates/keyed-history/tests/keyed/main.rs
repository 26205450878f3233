//! The modules together: keys of real channels, and histories of callers with different habits.

#![cfg(test)]

mod bounds;
mod channels;
mod merging;
mod notation;
mod properties;
