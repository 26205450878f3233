//! The gRPC server over real connections: limits, streams, the drain, health and reflection.

#![cfg(test)]

mod bounds;
mod connections;
mod drain;
mod echo;
mod health;
mod slow_requests;
mod stack;
mod streams;
