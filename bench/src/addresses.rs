//! How a stack and the servers below it are reached.

use event_log::RecordConfig;

/// How a stack is reached.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// The writer.
    pub writer_url: String,
    /// The gateway.
    pub gateway_url: String,
    /// A service token with the scopes append and read.
    pub token: String,
    /// The agent.
    pub agent: String,
    /// NATS and Postgres.
    pub servers: Option<Servers>,
}

/// The servers below a stack.
#[derive(Debug, Clone)]
pub struct Servers {
    /// NATS, and the record in it.
    pub record: RecordConfig,
    /// Postgres.
    pub database_url: String,
}
