//! The HTTP server over real connections: limits, timeouts, rejections, panics, streams and the drain.

#![cfg(test)]

mod bounds;
mod connections;
mod drain;
mod memory;
mod raw;
mod rejections;
mod slow_clients;
mod stack;
mod stalling;
mod telemetry;
mod vanished;
