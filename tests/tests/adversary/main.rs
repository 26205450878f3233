//! Attacks on the deployed configuration. Each attacker is an outsider, or a thief of one credential.

#![cfg(test)]

mod agent_ids;
mod channels;
mod connections;
mod costs;
mod egress;
mod end_users;
mod fixture;
mod floods;
mod model_proxy;
mod names;
mod retries;
mod rotation;
mod secrets;
mod sessions;
mod stolen_gateway;
mod tokens;
mod traces;
mod usage;
