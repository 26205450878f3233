//! What NATS and Postgres can do by themselves, in the same run and on the same data.
//!
//! The one exception to the rule that only `event-log` knows NATS and only `read-model` knows Postgres: a floor that
//! went through them would measure them.

mod append;
mod columns;
mod nats;
mod postgres;

use event_log::Record;

pub use append::{Committed, Inserts};
pub use nats::Publisher;
pub use postgres::{ROWS_PER_INSERT, Rows, Span, Written};

use super::addresses::Servers;

/// The servers below a stack.
#[derive(Debug)]
pub struct Floors {
    /// The record, to see how far it is.
    pub record: Record,
    /// Raw publishes.
    pub publisher: Publisher,
    /// Bare statements.
    pub rows: Rows,
    database_url: String,
}

impl Floors {
    /// Connects to both servers.
    ///
    /// # Errors
    /// One of them cannot be reached.
    pub async fn connect(
        record: Record,
        servers: &Servers,
        (writers, readers): (usize, usize),
    ) -> anyhow::Result<Self> {
        Ok(Self {
            publisher: Publisher::connect(&servers.record.nats_url, record.partitions(), writers)
                .await?,
            rows: Rows::connect(&servers.database_url, readers).await?,
            database_url: servers.database_url.clone(),
            record,
        })
    }

    /// Commits to Postgres alone, for so many workers with so many conversations each.
    ///
    /// # Errors
    /// As [`Inserts::prepare`].
    pub async fn inserts(&self, workers: usize, per_worker: usize) -> anyhow::Result<Inserts> {
        Inserts::prepare(&self.database_url, workers, per_worker).await
    }
}
