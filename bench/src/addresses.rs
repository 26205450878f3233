//! Addresses of a stack and of its servers.

use event_log::RecordConfig;

#[derive(Clone)]
pub(crate) struct Addresses {
    pub(crate) writer_url: String,
    pub(crate) gateway_url: String,
    /// A service token with the scopes append and read.
    pub(crate) token: String,
    pub(crate) agent: String,
    /// NATS and Postgres, if they are known.
    pub(crate) servers: Option<Servers>,
}

#[derive(Clone)]
pub(crate) struct Servers {
    pub(crate) record: RecordConfig,
    pub(crate) database_url: String,
}
