//! Baselines: NATS and Postgres alone, in the same run and with the same data.
//!
//! Exception to the rule that only `event-log` imports the NATS client and only `read-model` imports sqlx: baselines must
//! not include these crates.

mod append;
mod columns;
mod nats;
mod postgres;

use event_log::Record;

pub(crate) use append::{Committed, Inserts};
pub(crate) use nats::Publisher;
pub(crate) use postgres::{ROWS_PER_INSERT, Rows, VersionRange, WriteKind};

use super::addresses::Servers;

pub(crate) struct Baselines {
    /// The record, to read its last sequences.
    pub(crate) record: Record,
    pub(crate) publisher: Publisher,
    pub(crate) rows: Rows,
    database_url: String,
}

impl Baselines {
    pub(crate) async fn connect(
        record: Record,
        servers: &Servers,
        writers: usize,
        readers: usize,
    ) -> anyhow::Result<Self> {
        let nats_url = &servers.record.nats_url;
        let publisher = Publisher::connect(nats_url, record.partitions(), writers);
        Ok(Self {
            publisher: publisher.await?,
            rows: Rows::connect(&servers.database_url, readers).await?,
            database_url: servers.database_url.clone(),
            record,
        })
    }

    /// Commits to Postgres alone, for `workers` with `per_worker` conversations each.
    pub(crate) async fn inserts(&self, workers: usize, per_worker: usize) -> anyhow::Result<Inserts> {
        Inserts::prepare(&self.database_url, workers, per_worker).await
    }
}
