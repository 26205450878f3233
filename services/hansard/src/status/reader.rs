//! Reads how everything stands. What does not answer is no failure here: the readings say so.

use std::collections::BTreeMap;

use domain::{Partition, Sequence, Timestamp};
use event_log::{CatalogueError, Record, RecordConfig, RecordError, Unavailable};
use futures::future::join_all;
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::projections::conversations::overview;
use read_model::{ReadModel, ReadModelError, schema_standing};
use runtime::clock::Clock;

use super::readings::{PartitionReading, ReadModelReading, Readings, RecordReading};
use super::roles::Role;

/// Partitions that are looked at together.
const PARTITIONS_TOGETHER: usize = 16;

/// What reads, and keeps its connections for the next time.
#[derive(Debug)]
pub struct Reader {
    config: RecordConfig,
    record: Option<Record>,
    model: ReadModel,
    roles: Option<Vec<Role>>,
    clock: Clock,
}

/// How far the rows are.
type Checkpoints = BTreeMap<Partition, Sequence>;

impl Reader {
    /// Connects when it first reads. `roles`: those to ask; `None`: none.
    #[must_use]
    pub fn new(config: RecordConfig, model: ReadModel, roles: Option<Vec<Role>>) -> Self {
        Self {
            config,
            record: None,
            model,
            roles,
            clock: Clock::System,
        }
    }

    /// Reads how everything stands now.
    pub async fn read(&mut self) -> Readings {
        let roles = match &self.roles {
            Some(roles) => Some(join_all(roles.iter().map(Role::read)).await),
            None => None,
        };
        // First: what the record has is then never less than what the rows say.
        let read_model = read_model(&self.model).await;
        let checkpoints = read_model.as_ref().ok().map(|read| {
            let partitions = read.overview.partitions.iter();
            partitions
                .map(|partition| (partition.partition, partition.checkpoint))
                .collect()
        });
        let record = match self.record().await {
            Ok(record) => read_record(&record, checkpoints.as_ref()).await,
            Err(error) => Err(error),
        };
        let erased = match &record {
            Ok(record) if read_model.is_ok() && has_holes(record) => {
                overview::erased_commits(&self.model).await.ok().flatten()
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
    let schema = schema_standing(model).await?;
    let overview = overview::overview(model).await?;
    Ok(ReadModelReading { schema, overview })
}

fn has_holes(record: &RecordReading) -> bool {
    let mut partitions = record.partitions.iter();
    partitions.any(|partition| partition.standing.holes() > 0)
}

async fn read_record(
    record: &Record,
    checkpoints: Option<&Checkpoints>,
) -> Result<RecordReading, RecordError> {
    let durability = record.durability().await?;
    let archived = archived(record).await?;
    let archived = &archived;
    let partitions = stream::iter((0..record.partitions()).map(Partition))
        .map(|partition| async move {
            let read = read_partition(record, partition, checkpoints).await?;
            let archived = archived.get(&partition).copied().unwrap_or(0);
            Ok::<_, Unavailable>(PartitionReading { archived, ..read })
        })
        .buffered(PARTITIONS_TOGETHER)
        .try_collect();
    Ok(RecordReading {
        id: hex_of(record),
        durability,
        partitions: partitions.await?,
    })
}

/// How many commits of each partition are in the archive alone. An entry that cannot be read explains nothing.
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
) -> Result<PartitionReading, Unavailable> {
    let standing = record.standing_of(partition).await?;
    // A partition that nobody has looked at yet is projected up to nothing.
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
        archived: 0,
        waits,
    })
}

fn hex_of(record: &Record) -> String {
    hex::encode(record.id().0)
}
