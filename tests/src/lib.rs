//! The fixtures of end-to-end tests: servers, roles as tasks or as real processes, clients, and waiting with timeouts.
//!
//! The fixtures use public interfaces only: gRPC and HTTP over real sockets, and command lines. Setup and checks also
//! use the record and the read model. Everything that a test starts ends with the test, also after a panic.
//!
//! The beginning of a test, on the stack that the tests of a process share. One that changes or stops a role starts its own:
//! `Setup::tasks().start().await`.
//!
//! ```no_run
//! # async fn test() {
//! use tests::stack::Stack;
//!
//! let stack = Stack::shared().await;
//! let agent = stack.any_agent().await;
//! agent.create("c1").await;
//! # }
//! ```

#![expect(clippy::expect_used, clippy::panic, reason = "a test whose setup fails must fail")]

pub mod admin;
pub mod agent;
pub mod authority;
pub mod checker;
pub mod chitchat;
pub mod client;
pub mod cluster;
pub mod collector;
pub mod dashboard;
pub mod deploy_files;
pub mod disk;
pub mod errors;
pub mod events;
pub mod eventually;
pub mod folder;
pub mod generated;
pub mod http_client;
pub mod import;
pub mod jwt;
pub mod logins;
pub mod model;
pub mod nats_accounts;
pub mod node;
pub mod operator;
pub mod parts;
pub mod port;
pub mod process;
pub mod program;
pub mod proxy;
pub mod raw_nats;
pub mod servers;
pub mod settings;
pub mod shards;
pub mod shared;
pub mod stack;
pub mod terminator;
mod watchdog;
