//! What a caller can show while servers are fetched and started.

use std::fmt;
use std::time::Duration;

/// A server of the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerName {
    /// nats-server.
    Nats,
    /// Postgres.
    Postgres,
}

impl fmt::Display for ServerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nats => "nats-server",
            Self::Postgres => "postgres",
        })
    }
}

/// One step of a start, in the order in which it happens for one server; two servers interleave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A package (name and version) is being downloaded and unpacked into the cache.
    Fetching(&'static str),
    /// A process that an earlier run left on this data folder is being stopped.
    StoppingLeftover(ServerName),
    /// A new, empty data folder is being made for Postgres.
    Initialising(ServerName),
    /// The server answers; the time is from the start of its process.
    Ready(ServerName, Duration),
    /// The server ended by itself and is being started again.
    Restarting(ServerName),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetching(package) => write!(f, "fetching {package}"),
            Self::StoppingLeftover(server) => write!(f, "stopping a {server} left running"),
            Self::Initialising(server) => write!(f, "making a data folder for {server}"),
            Self::Ready(server, took) => write!(f, "{server} ready in {} ms", took.as_millis()),
            Self::Restarting(server) => write!(f, "{server} ended, starting it again"),
        }
    }
}

/// Told of every step, from the task that starts the servers; must not block.
pub type Progress<'a> = &'a (dyn Fn(Step) + Send + Sync);

/// A [`Progress`] that shows nothing.
pub fn quiet(_: Step) {}
