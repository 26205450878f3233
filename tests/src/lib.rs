//! What end-to-end tests stand on: servers, roles as tasks or as real processes, clients, and patience.
//!
//! Reaches the system by its public doors only: gRPC and HTTP over real sockets, command lines, and, to prepare and to
//! judge, the record and the read model. What is started here ends with the test, however that ends.
//!
//! A test begins like this:
//!
//! ```no_run
//! # async fn test() {
//! use tests::stack::Setup;
//!
//! let stack = Setup::tasks().start().await;
//! let agent = stack.agent("acme", "support").await;
//! agent.create("c1").await;
//! # }
//! ```

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test whose ground cannot be laid must fail"
)]

pub mod admin;
pub mod agent;
pub mod authority;
pub mod checker;
pub mod chitchat;
pub mod client;
pub mod collector;
pub mod deploy_files;
pub mod disk;
pub mod door;
pub mod errors;
pub mod events;
pub mod eventually;
pub mod folder;
pub mod guarded;
pub mod import;
pub mod jwt;
pub mod logins;
pub mod model;
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
pub mod stack;
pub mod terminator;
mod watchdog;
