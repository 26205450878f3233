//! Adds partitions while everything runs; the operator's steps. Each is idempotent, so a growth can be resumed at any time.
//!
//! 1. The streams of the new partitions are created.
//! 2. The layout is announced, then closing, then open; at least [`STAGE_TIME_MIN`](crate::STAGE_TIME_MIN) apart. `first_append.rs`
//!    explains what the stages mean for a new conversation.
//! 3. The messages that closed a subject are removed: nothing else can be stored there any more.

use domain::{Layout, LayoutError, Partition, Sequence};

use thiserror::Error;

use crate::connection::config::RecordConfig;
use crate::error::{RecordError, Unavailable};
use crate::group_commit::batch::{BATCH_MESSAGES_MAX, BatchRequest, From};
use crate::put::Put;
use crate::record::Record;
use crate::topology::{self, LAYOUT_STREAM, LAYOUT_SUBJECT, StoredLayout, encode, stream_config};

/// Maximum bytes of one batch of the search for closing messages.
const SEARCH_BYTES_MAX: usize = 4 * 1_024 * 1_024;

/// Errors of a growth. What was done stays, and the same call continues.
#[derive(Debug, Error)]
pub enum GrowthError {
    /// The number of partitions cannot follow; nothing was changed.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Another process changed the layout.
    #[error("another process changed the layout: run the command again")]
    Superseded,
    /// A stream cannot be created.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The record does not answer.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

impl GrowthError {
    /// Whether the record did not answer: the same call can succeed later.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::Record(RecordError::Unavailable(_)))
    }
}

impl Record {
    /// Creates the streams of more partitions, and announces them. Does nothing for a growth to this number that has begun or ended.
    /// `tags`: those that every server of the new streams must have; none: as for partition 0.
    ///
    /// # Errors
    /// [`GrowthError`].
    pub async fn announce_partitions(&self, partitions: u16, tags: &[String]) -> Result<(), GrowthError> {
        let known = self.known_layout().read().await?;
        if known.layout.partitions() == partitions {
            return Ok(());
        }
        let grown = known.layout.grown(partitions)?;
        let mut config = self.config_of_streams().await?;
        if !tags.is_empty() {
            config.placement_tags = tags.to_vec();
            config.check()?;
        }
        let (connection, identity) = (self.connection(), self.identity());
        let new = known.layout.partitions()..partitions;
        topology::create_partitions(connection, new, identity, &config).await?;
        let stream = stream_config::layout(identity, &config);
        topology::ensure_of_record(connection, stream, identity, self.deadline()).await?;
        self.put_layout(&grown, &known).await
    }

    /// Begins the next stage of a growth; at least [`STAGE_TIME_MIN`](crate::STAGE_TIME_MIN) after the one before. Does
    /// nothing if the growth is open.
    ///
    /// # Errors
    /// [`GrowthError`].
    pub async fn advance_layout(&self) -> Result<(), GrowthError> {
        let known = self.known_layout().read().await?;
        match known.layout.advanced() {
            Some(next) => self.put_layout(&next, &known).await,
            None => Ok(()),
        }
    }

    /// Removes the messages that closed a subject during the last growth; at least [`STAGE_TIME_MIN`](crate::STAGE_TIME_MIN)
    /// after it opened. Returns how many.
    ///
    /// # Errors
    /// [`Unavailable`].
    pub async fn remove_closings(&self) -> Result<u64, Unavailable> {
        let layout = self.read_layout().await?;
        let generations = layout.generations();
        let [.., previous, _] = generations[..] else {
            return Ok(0);
        };
        // The first new stream was created before the first subject was closed.
        let first_new = self.partition_info(Partition(previous)).await?;
        let mut removed = 0_u64;
        for partition in (0..previous).map(Partition) {
            let of_partition = self.remove_closings_of(partition, &first_new.created);
            removed = removed.saturating_add(of_partition.await?);
        }
        Ok(removed)
    }

    async fn remove_closings_of(&self, partition: Partition, since: &str) -> Result<u64, Unavailable> {
        let stream = topology::stream_name(partition);
        let mut from = From::Time(since.to_owned());
        let mut removed = 0_u64;
        loop {
            let request =
                BatchRequest { from, subject: ">", messages_max: BATCH_MESSAGES_MAX, bytes_max: SEARCH_BYTES_MAX };
            let connection = self.connection();
            let batch = connection.batch(&stream, &request, BATCH_MESSAGES_MAX, self.deadline()).await?;
            let closings = batch.messages.iter().filter(|message| message.is_closing()).map(|message| message.sequence);
            let erased = self.erase_messages(&stream, closings).await?.into_iter().filter(|was_held| *was_held).count();
            removed = removed.saturating_add(u64::try_from(erased).unwrap_or(u64::MAX));
            match batch.resume_after() {
                Some(last) => from = From::after(last),
                None => return Ok(removed),
            }
        }
    }

    async fn put_layout(&self, layout: &Layout, known: &StoredLayout) -> Result<(), GrowthError> {
        let expected = Some(known.revision).filter(|revision| *revision > Sequence(0));
        let put = self.put(
            LAYOUT_STREAM,
            LAYOUT_SUBJECT.to_owned(),
            expected,
            encode(layout)?.into(),
            "the server rejected a change of the layout",
        );
        match put.await? {
            Put::Stored(_) => {
                self.read_layout().await?;
                Ok(())
            }
            Put::Superseded(_) => Err(GrowthError::Superseded),
        }
    }

    /// The configuration with the replicas, the placement and the retention that the streams of partition 0 have.
    pub(crate) async fn config_of_streams(&self) -> Result<RecordConfig, Unavailable> {
        let first = self.partition_info(Partition(0)).await?;
        let stream = topology::parts_stream_name(Partition(0));
        let parts = topology::info(self.connection(), &stream, self.deadline()).await?;
        let config = topology::config_like(&first.config, self.config());
        let kept = parts.map_or(config.parts_ttl_seconds, |parts| parts.config.max_age.as_secs());
        Ok(RecordConfig { parts_ttl_seconds: kept, ..config })
    }
}
