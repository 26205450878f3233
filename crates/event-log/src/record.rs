//! The client of the record.

pub(crate) mod known_ends;

use std::sync::Arc;
use std::time::Duration;

use domain::{ConversationKey, Layout, Partition, Position};
use futures::future::try_join_all;
use quick_cache::sync::Cache;
use tokio::time::Instant;
use wire::token::RecordId;

use crate::connection::Connection;
use crate::connection::config::RecordConfig;
use crate::connection::durability;
use crate::connection::durability::Durability;
use crate::connection::known_time::KnownTime;
use crate::error::{RecordError, Unavailable};
use crate::group_commit::GroupCommit;
use crate::record::known_ends::KnownEnds;
use crate::topology::PartitionBounds;
use crate::topology::known_layout::KnownLayout;
use crate::topology::restore_marker::check_no_restore;
use crate::topology::{self, Identity, StreamInfo};

/// Timeout of a health check.
const CHECK_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes reserved for the headers of an append (ids and trace) in the server's largest message.
const HEADERS_BYTES_MAX: usize = 4 * 1_024;
/// Maximum conversations of a record that has grown whose partition is remembered.
const LOCATIONS_KNOWN_MAX: usize = 100_000;

/// The record. Clones share one connection.
#[derive(Debug, Clone)]
pub struct Record(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    connection: Arc<Connection>,
    /// For comparisons of the record, while the connection is guarded.
    unguarded: Connection,
    identity: Identity,
    layout: Arc<KnownLayout>,
    /// The partitions of conversations of a record that has grown.
    locations: Cache<ConversationKey, Partition>,
    config: RecordConfig,
    /// `None`: the streams do not accept batches.
    group_commit: Option<GroupCommit>,
    time: KnownTime,
    ends: KnownEnds,
}

impl Record {
    /// Creates the missing streams of the record, then opens it. Several processes may do so at once.
    ///
    /// # Errors
    /// [`RecordError`], such as [`RecordError::NotDurable`] unless data loss is accepted.
    pub async fn create(config: RecordConfig) -> Result<Self, RecordError> {
        config.check()?;
        let connection = Connection::open(&config).await?;
        let deadline = Instant::now() + config.request_timeout();
        check_no_restore(&connection, deadline).await?;
        if !config.accept_data_loss {
            durability::require(&durability::read_from_server(&config).await)?;
        }
        topology::create(&connection, &config, deadline).await?;
        let record = Self::attach(connection, config).await?;
        if !record.0.config.accept_data_loss {
            durability::require(&record.durability().await?)?;
        }
        Ok(record)
    }

    /// Whether a record exists on the servers.
    ///
    /// # Errors
    /// [`RecordError`], such as [`RecordError::Foreign`].
    pub async fn exists(config: &RecordConfig) -> Result<bool, RecordError> {
        config.check()?;
        let connection = Connection::open(config).await?;
        match topology::identity(&connection, Instant::now() + config.request_timeout()).await {
            Ok(_) => Ok(true),
            Err(RecordError::Missing { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens an existing record. For readers: they also start on a server that is not durable.
    ///
    /// # Errors
    /// [`RecordError`], such as [`RecordError::Missing`] until a writer has created the record.
    pub async fn open(config: RecordConfig) -> Result<Self, RecordError> {
        config.check()?;
        let connection = Connection::open(&config).await?;
        check_no_restore(&connection, Instant::now() + config.request_timeout()).await?;
        Self::attach(connection, config).await
    }

    pub(crate) async fn attach(connection: Connection, config: RecordConfig) -> Result<Self, RecordError> {
        let deadline = Instant::now() + config.request_timeout();
        let read_at = Instant::now();
        let found = topology::check(&connection, &config, deadline).await?;
        let connection = Arc::new(connection);
        let replicas = topology::accept_batches(&found);
        let group_commit = replicas.map(|replicas| GroupCommit::new(&connection, replicas));
        let (first, timeout) = (found.identity.partitions, config.request_timeout());
        let layout = KnownLayout::new(&connection, found.layout, read_at, first, timeout);
        Ok(Self(Arc::new(Inner {
            unguarded: connection.unguarded(),
            connection,
            identity: found.identity,
            layout,
            locations: Cache::new(LOCATIONS_KNOWN_MAX),
            config,
            group_commit,
            time: KnownTime::new(found.time),
            ends: KnownEnds::default(),
        })))
    }

    /// The record's unique id.
    #[must_use]
    pub fn id(&self) -> RecordId {
        self.0.identity.id
    }

    /// The layout that this process knows.
    #[must_use]
    pub fn layout(&self) -> Arc<Layout> {
        self.0.layout.get().layout
    }

    /// The number of partitions that this process knows, with those that are being added.
    #[must_use]
    pub fn partitions(&self) -> u16 {
        self.layout().partitions()
    }

    /// Reads the layout from the leader.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn read_layout(&self) -> Result<Arc<Layout>, Unavailable> {
        Ok(self.0.layout.read().await?.layout)
    }

    /// Whether the streams accept batches, so that concurrent commits share a sync; as read when the record was opened.
    #[must_use]
    pub fn accepts_batches(&self) -> bool {
        self.0.group_commit.is_some()
    }

    /// The maximum bytes of a sealed commit: the server's maximum payload minus the headers.
    #[must_use]
    pub fn payload_bytes_max(&self) -> usize {
        let payload_bytes = self.connection().client.max_payload();
        payload_bytes.saturating_sub(HEADERS_BYTES_MAX)
    }

    /// Checks that the record answers within a second. The answer has the time of the server, which is remembered.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn check(&self) -> Result<(), Unavailable> {
        let deadline = self.deadline().min(Instant::now() + CHECK_TIMEOUT);
        self.ask_time(Partition(0), deadline).await.map(drop)
    }

    /// Whether acknowledged commits survive a power failure, as far as a client can see.
    ///
    /// # Errors
    /// [`RecordError::Unavailable`] when the streams cannot be read, or another error when their configuration has changed.
    pub async fn durability(&self) -> Result<Durability, RecordError> {
        let config = &self.0.config;
        let found = topology::check(self.connection(), config, self.deadline()).await?;
        match durability::find_loss(&found.streams) {
            Some(why) => Ok(Durability::NotDurable { why }),
            None => Ok(durability::read_from_server(config).await),
        }
    }

    /// The first and last sequence of a partition, from its leader.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn bounds_of(&self, partition: Partition) -> Result<PartitionBounds, Unavailable> {
        Ok(self.partition_info(partition).await?.state.bounds())
    }

    /// Configuration and state of a partition's stream, from its leader.
    pub(crate) async fn partition_info(&self, partition: Partition) -> Result<StreamInfo, Unavailable> {
        let stream = topology::stream_name(partition);
        let info = topology::info(self.connection(), &stream, self.deadline()).await?;
        info.ok_or(Unavailable::new("a stream of the record does not exist"))
    }

    /// The last position of each partition, from its leader: it includes every commit acknowledged before this call.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn ends(&self) -> Result<Vec<Position>, Unavailable> {
        let ends = (0..self.partitions()).map(Partition).map(async |partition| {
            let sequence = self.bounds_of(partition).await?.last;
            Ok(Position { partition, sequence })
        });
        try_join_all(ends).await
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.0.connection
    }

    /// The queues of commits; `None`: the streams do not accept batches, and every commit is published alone.
    pub(crate) fn group_commit(&self) -> Option<&GroupCommit> {
        self.0.group_commit.as_ref()
    }

    pub(crate) fn known_time(&self) -> &KnownTime {
        &self.0.time
    }

    pub(crate) fn unguarded(&self) -> &Connection {
        &self.0.unguarded
    }

    pub(crate) fn known_ends(&self) -> &KnownEnds {
        &self.0.ends
    }

    pub(crate) fn known_layout(&self) -> &KnownLayout {
        &self.0.layout
    }

    pub(crate) fn locations(&self) -> &Cache<ConversationKey, Partition> {
        &self.0.locations
    }

    pub(crate) fn identity(&self) -> Identity {
        self.0.identity
    }

    pub(crate) fn config(&self) -> &RecordConfig {
        &self.0.config
    }

    /// The deadline of a call that starts now.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.0.config.request_timeout()
    }
}
