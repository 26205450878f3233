//! Reads the state of the system. What does not answer is part of the readings, not an error.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::{CatalogueError, Record, RecordConfig, RecordError, Registry, Unavailable};
use futures::future::join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::projections::conversations::overview::{self, Overview};
use read_model::{ReadModel, ReadModelError, schema_status};
use runtime::clock::Clock;
use tokio::time::{Instant, sleep};

use super::readings::{
    Checkpoints, ErasedReading, ErasuresReading, PartitionReading, ReadModelReading, Readings,
    RecordReading,
};
use super::roles::Role;

/// The deadline for rows to contain recent erasures.
const ERASED_DEADLINE: Duration = Duration::from_secs(2);
/// The polling interval.
const POLL: Duration = Duration::from_millis(100);
/// The number of erasures in progress among which the oldest is searched.
const ERASURES_READ_MAX: usize = 256;
/// Partitions that are read concurrently.
const PARTITIONS_IN_FLIGHT: usize = 16;

/// A reader, which keeps its connections between reads.
#[derive(Debug)]
pub(crate) struct Reader {
    config: RecordConfig,
    record: Option<Record>,
    model: ReadModel,
    roles: Option<Vec<Role>>,
    clock: Clock,
}

impl Reader {
    /// Creates a reader, which connects with the first read. `roles`: the roles to read; `None`: none.
    pub(crate) fn new(config: RecordConfig, model: ReadModel, roles: Option<Vec<Role>>) -> Self {
        Self {
            config,
            record: None,
            model,
            roles,
            clock: Clock::System,
        }
    }

    /// Reads the current state.
    pub(crate) async fn read(&mut self) -> Readings {
        let roles = match &self.roles {
            Some(roles) => Some(join_all(roles.iter().map(Role::read)).await),
            None => None,
        };
        // The rows are read first, so that the record is never behind them.
        let read_model = read_model(&self.model).await;
        let checkpoints = read_model.as_ref().ok();
        let checkpoints = checkpoints.map(|read| checkpoints_of(&read.overview));
        let record = match self.record().await {
            Ok(record) => read_record(&record, checkpoints.as_ref()).await,
            Err(error) => Err(error),
        };
        let erased = match &record {
            Ok(record) if read_model.is_ok() && record.partitions.iter().any(has_others) => {
                erased(&self.model, record).await.ok().flatten()
            }
            _ => None,
        };
        Readings {
            now: Timestamp(self.clock.now_nanos()),
            erased,
            record: record.map_err(|error| error.to_string()),
            read_model: read_model.map_err(|error| error.to_string()),
            roles,
        }
    }

    async fn record(&mut self) -> Result<Record, RecordError> {
        if let Some(record) = &self.record {
            return Ok(record.clone());
        }
        let record = Record::open(self.config.clone()).await?;
        Ok(self.record.insert(record).clone())
    }
}

async fn read_model(model: &ReadModel) -> Result<ReadModelReading, ReadModelError> {
    let schema = schema_status(model).await?;
    let overview = overview::overview(model).await?;
    Ok(ReadModelReading { schema, overview })
}

fn checkpoints_of(overview: &Overview) -> Checkpoints {
    let partitions = overview.partitions.iter();
    partitions
        .map(|partition| (partition.partition, partition.checkpoint))
        .collect()
}

/// Reads what erasures removed, after the rows have reached the end of the record, or after the deadline. A message is removed
/// after its tombstone is appended, so rows at that position contain every erasure that made a hole.
async fn erased(
    model: &ReadModel,
    record: &RecordReading,
) -> Result<Option<ErasedReading>, ReadModelError> {
    let deadline = Instant::now() + ERASED_DEADLINE;
    loop {
        let checkpoints = checkpoints_of(&overview::overview(model).await?);
        let is_reached = |read: &PartitionReading| {
            let projected = checkpoints.get(&read.partition).copied();
            projected.unwrap_or_default() >= read.standing.bounds.last
        };
        let mut unexplained = record.partitions.iter().filter(|read| has_others(read));
        if unexplained.all(is_reached) || Instant::now() >= deadline {
            let commits = overview::erased_commits(model).await?;
            return Ok(commits.map(|commits| ErasedReading {
                checkpoints,
                commits,
            }));
        }
        sleep(POLL).await;
    }
}

/// Whether it has holes that the archive does not cause.
fn has_others(read: &PartitionReading) -> bool {
    read.standing.removed() > read.archived
}

async fn read_record(
    record: &Record,
    checkpoints: Option<&Checkpoints>,
) -> Result<RecordReading, RecordError> {
    let durability = record.durability().await?;
    let archived = archived(record).await?;
    let partitions = stream::iter((0..record.partitions()).map(Partition))
        .map(|partition| {
            let archived = archived.get(&partition).copied().unwrap_or(0);
            read_partition(record, partition, checkpoints, archived)
        })
        .buffered(PARTITIONS_IN_FLIGHT)
        .try_collect();
    Ok(RecordReading {
        id: hex::encode(record.id().0),
        durability,
        secrets_in_clear: Registry::open(record).await?.count_plaintext_secrets(),
        partitions: partitions.await?,
        erasures: erasures(record).await?,
    })
}

async fn erasures(record: &Record) -> Result<ErasuresReading, Unavailable> {
    let count = record.count_pending_erasures().await?;
    if count == 0 {
        return Ok(ErasuresReading::default());
    }
    let entries = record.pending_erasures(Sequence(0), ERASURES_READ_MAX);
    let oldest = entries.await?.into_iter().map(|entry| entry.begun_at).min();
    Ok(ErasuresReading { count, oldest })
}

/// The number of commits of each partition that are only in the archive. Unreadable entries are not counted.
async fn archived(record: &Record) -> Result<BTreeMap<Partition, u64>, Unavailable> {
    let entries = match record.archive_entries(None).await {
        Ok(entries) => entries,
        Err(CatalogueError::Unavailable(unavailable)) => return Err(unavailable),
        Err(CatalogueError::Corrupt { .. } | CatalogueError::Superseded { .. }) => Vec::new(),
    };
    let mut archived = BTreeMap::new();
    for entry in entries.into_iter().map(|one| one.entry) {
        let sealed = entry.sealed.filter(|sealed| sealed.is_trimmed);
        *archived.entry(Partition(entry.partition)).or_default() +=
            sealed.map_or(0, |sealed| sealed.commits);
    }
    Ok(archived)
}

async fn read_partition(
    record: &Record,
    partition: Partition,
    checkpoints: Option<&Checkpoints>,
    archived: u64,
) -> Result<PartitionReading, Unavailable> {
    let standing = record.partition_status(partition).await?;
    // A partition without a checkpoint has no rows yet.
    let checkpoint = checkpoints.map(|all| all.get(&partition).copied().unwrap_or(Sequence(0)));
    let waits = match checkpoint {
        Some(checkpoint) if checkpoint < standing.bounds.last => {
            record.next_after(partition, checkpoint).await?
        }
        _ => None,
    };
    Ok(PartitionReading {
        partition,
        standing,
        archived,
        waits,
    })
}
