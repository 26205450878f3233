//! README and `docs/`: links lead somewhere, commands are understood, claims name their tests, generated parts are current.
//!
//! Parts of the reference are generated from the code, between `<!-- generated: NAME -->` and `<!-- end -->`. After a
//! change of the code, `INSTA_UPDATE=always cargo test -p tests --test docs` writes them again.

#![cfg(test)]

mod claims;
mod cli;
mod commands;
mod configuration;
mod errors;
mod extending;
mod generated;
mod grpc;
mod http;
mod links;
mod markdown;
mod metrics;
mod paths;
mod settings;
mod shell;
mod source;
