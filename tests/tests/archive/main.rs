//! Archiving of old commits in sealed segments, with the program: nothing is lost, duplicated or restored after an
//! erasure.

#![cfg(test)]

mod damage;
mod erasure;
mod fixture;
mod growth;
mod hibernation;
mod kills;
mod large;
mod lifecycle;
mod old_conversations;
mod reads;
mod records;
mod restores;
mod shards;
mod speed;
mod unreachable_store;
