//! The HTTP door of a whole system: who may, what they see, and what becomes of it. `access` holds for every operation.

#![cfg(test)]

mod access;
mod admin;
mod bounds;
mod chats;
mod claims;
mod egress;
mod erased_forks;
mod export;
mod forks;
mod ground;
mod issued;
mod long_erasure;
mod messages;
mod positions;
mod provider_logs;
mod quotas;
mod security_headers;
mod talk;
mod tokens;
