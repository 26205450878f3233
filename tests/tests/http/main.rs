//! The HTTP listener of a whole system. Folders follow the URLs, as in the gateway; `access` covers every operation,
//! `turns` every endpoint with answers of a model.

#![cfg(test)]

mod access;
mod audit;
mod bounds;
mod chat;
mod chats;
mod dashboard;
mod egress;
mod fixture;
mod key_uses;
mod live;
mod mcp;
mod openai;
mod positions;
mod quotas;
mod readiness;
mod replicas;
mod search;
mod security_headers;
mod sessions;
mod terminal;
mod tokens;
mod turns;
mod v1;
mod widget;
