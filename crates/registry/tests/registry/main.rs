//! The registry against a real server.
#![cfg(test)]

mod access;
mod administration;
mod frontends;
mod removal;
mod sealing;
mod support;
mod tenant_secrets;
