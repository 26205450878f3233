//! `hansard rebuild` on a live system: through the program, with writers and readers that notice nothing.

#![cfg(test)]

mod erased;
mod ground;
mod load;
mod speed;
mod steady;
mod stopped;
