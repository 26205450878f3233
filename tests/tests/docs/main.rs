//! README, CONTRIBUTING and `docs/`: links have targets, commands are valid, claims name their tests, generated parts are current.
//!
//! Parts of the reference are generated from the code, between `<!-- generated: NAME -->` and `<!-- end -->`. After a
//! change of the code, `INSTA_UPDATE=always cargo test -p tests --test docs` updates them.

#![cfg(test)]

mod claims;
mod cli;
mod commands;
mod configuration;
mod errors;
mod examples;
mod extending;
mod grpc;
mod http;
mod links;
mod loops;
mod markdown;
mod metrics;
mod paths;
mod recipes;
mod settings;
mod shell;
mod source;
