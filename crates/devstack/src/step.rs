//! The progress of fetching and starting servers.

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

/// One step of a start, in the order of one server; the steps of two servers interleave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A package (name and version) is downloaded and unpacked into the cache.
    Fetching(&'static str),
    /// A process that an earlier run left on this data folder is stopped.
    StoppingLeftover(ServerName),
    /// A new data folder is created for Postgres.
    Initialising(ServerName),
    /// The server is ready; the time is since the start of its process.
    Ready(ServerName, Duration),
    /// The server ended by itself and is restarted.
    Restarting(ServerName),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetching(package) => write!(f, "fetching {package}"),
            Self::StoppingLeftover(server) => write!(f, "stopping a leftover {server}"),
            Self::Initialising(server) => write!(f, "creating a data folder for {server}"),
            Self::Ready(server, took) => write!(f, "{server} ready in {} ms", took.as_millis()),
            Self::Restarting(server) => write!(f, "{server} ended, restarting it"),
        }
    }
}

/// A callback for every step, called by the task that starts the servers. It must not block.
pub type Progress<'a> = &'a (dyn Fn(Step) + Send + Sync);

/// A [`Progress`] without effect.
pub fn quiet(_: Step) {}
