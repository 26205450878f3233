//! Retention with real servers, a real writer and a real projector.

#![cfg(test)]

mod callers;
mod documents;
mod idle;
mod job;
mod limits;
mod messages;
mod per_owner;
mod races;
mod rows_behind;
mod shards;
mod stack;
