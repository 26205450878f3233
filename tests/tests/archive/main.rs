//! Old commits in sealed segments, through the program: all goes on as before, and nothing is lost, doubled or brought back.

#![cfg(test)]

mod damage;
mod erasure;
mod ground;
mod growth;
mod kills;
mod large;
mod lifecycle;
mod old;
mod reading;
mod restored;
mod speed;
mod unreached;
