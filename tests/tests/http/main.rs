//! The HTTP listener of a whole system. Folders follow the URLs, as in the gateway; `access` covers every operation, `turns`
//! every endpoint that has a model answer.

#![cfg(test)]

mod access;
mod bounds;
mod chat;
mod chats;
mod egress;
mod ground;
mod positions;
mod quotas;
mod security_headers;
mod sessions;
mod tokens;
mod turns;
mod v1;
