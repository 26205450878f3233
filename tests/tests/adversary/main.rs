//! Attacks: each with only what an outsider, or a thief of one credential, has, against the deployed configuration.

#![cfg(test)]

mod agent_ids;
mod channels;
mod connections;
mod egress;
mod floods;
mod ground;
mod model_proxy;
mod retries;
mod rotation;
mod secrets;
mod sessions;
mod tokens;
mod traces;
