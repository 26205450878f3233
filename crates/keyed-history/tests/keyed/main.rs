//! What the parts do together: keys of real channels, and histories of callers of every habit.

#![cfg(test)]

mod channels;
mod merging;
mod notation;
mod properties;
