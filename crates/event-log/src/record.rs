//! The handle to the record.

use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationKey, Partition, Position};
use futures::future::try_join_all;
use tokio::time::Instant;
use wire::token::RecordId;

use crate::config::RecordConfig;
use crate::connection::Connection;
use crate::durability::{self, Durability};
use crate::error::{RecordError, Unavailable};
use crate::topology::{self, Identity, PartitionBounds};

/// How long a health check may take.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// Room for the headers of an append in the largest message that the server takes, in bytes: ids and a trace.
const HEADERS_BYTES_MAX: usize = 4 * 1_024;

/// The record. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Record(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connection: Connection,
    identity: Identity,
    config: RecordConfig,
}

impl Record {
    /// Makes what is missing of the record, then opens it. Any number of processes may do so at once.
    ///
    /// # Errors
    /// [`RecordError`]; among them [`RecordError::NotDurable`], unless data loss is accepted.
    pub async fn create(config: RecordConfig) -> Result<Self, RecordError> {
        config.check()?;
        let connection = Connection::open(&config).await?;
        let deadline = Instant::now() + config.request_timeout();
        if !config.accept_data_loss {
            durability::require(&durability::of_server(&config).await)?;
        }
        topology::create(&connection, &config, deadline).await?;
        let record = Self::attach(connection, config).await?;
        if !record.0.config.accept_data_loss {
            durability::require(&record.durability().await?)?;
        }
        Ok(record)
    }

    /// Opens a record that is there. For readers: they start on a server that is not durable, too.
    ///
    /// # Errors
    /// [`RecordError`]; among them [`RecordError::Missing`] until a writer has created the record.
    pub async fn open(config: RecordConfig) -> Result<Self, RecordError> {
        config.check()?;
        let connection = Connection::open(&config).await?;
        Self::attach(connection, config).await
    }

    async fn attach(connection: Connection, config: RecordConfig) -> Result<Self, RecordError> {
        let deadline = Instant::now() + config.request_timeout();
        let (identity, _) = topology::check(&connection, &config, deadline).await?;
        Ok(Self(Arc::new(Inner {
            connection,
            identity,
            config,
        })))
    }

    /// The record's name among others.
    #[must_use]
    pub fn id(&self) -> RecordId {
        self.0.identity.id
    }

    /// How many partitions it has.
    #[must_use]
    pub fn partitions(&self) -> u16 {
        self.0.identity.partitions
    }

    /// The partition that a conversation lives in.
    #[must_use]
    pub fn partition_of(&self, key: &ConversationKey) -> Partition {
        Partition::of(&key.tenant, &key.conversation, self.partitions())
    }

    /// Most bytes of a sealed commit: what the server takes less room for headers.
    #[must_use]
    pub fn payload_bytes_max(&self) -> usize {
        let payload_bytes = self.connection().client.max_payload();
        payload_bytes.saturating_sub(HEADERS_BYTES_MAX)
    }

    /// Whether the record answers now; takes at most a second.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn check(&self) -> Result<(), Unavailable> {
        let first = topology::stream_name(Partition(0));
        let deadline = self.deadline().min(Instant::now() + CHECK_TIMEOUT);
        match topology::info(self.connection(), &first, deadline).await? {
            Some(_) => Ok(()),
            None => Err(Unavailable::new("its first stream is gone")),
        }
    }

    /// What can be seen of whether acknowledged commits outlive a power failure.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] when the streams cannot be looked at, or another when they have changed.
    pub async fn durability(&self) -> Result<Durability, RecordError> {
        let config = &self.0.config;
        let (_, streams) = topology::check(self.connection(), config, self.deadline()).await?;
        match durability::loss_of(&streams) {
            Some(why) => Ok(Durability::NotDurable { why }),
            None => Ok(durability::of_server(config).await),
        }
    }

    /// What a partition holds now, as its leader says.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn bounds_of(&self, partition: Partition) -> Result<PartitionBounds, Unavailable> {
        let stream = topology::stream_name(partition);
        let info = topology::info(self.connection(), &stream, self.deadline()).await?;
        let info = info.ok_or(Unavailable::new("a stream is gone"))?;
        Ok(info.state.bounds())
    }

    /// Where each partition ends now, as its leader says: every commit that was acknowledged before this call is there.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn ends(&self) -> Result<Vec<Position>, Unavailable> {
        let ends = (0..self.partitions())
            .map(Partition)
            .map(async |partition| {
                let sequence = self.bounds_of(partition).await?.last;
                Ok(Position {
                    partition,
                    sequence,
                })
            });
        try_join_all(ends).await
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    pub(crate) fn identity(&self) -> Identity {
        self.0.identity
    }

    pub(crate) fn config(&self) -> &RecordConfig {
        &self.0.config
    }

    /// When a call that begins now must end.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.0.config.request_timeout()
    }
}
