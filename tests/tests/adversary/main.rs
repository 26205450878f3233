//! Attacks: each with only what an outsider, or a thief of one credential, has, against the deployed configuration.

#![cfg(test)]

mod agent_ids;
mod channels;
mod connections;
mod egress;
mod ground;
mod model_proxy;
mod rotation;
mod secrets;
mod sessions;
mod tokens;
mod traces;
