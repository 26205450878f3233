//! Reads the state of the system. What does not answer is part of the readings, not an error.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Partition, Sequence, Stage, Timestamp};
use event_log::{CatalogueError, Record, RecordConfig, RecordError, TimedSequence, Unavailable};
use futures::future::{join_all, try_join_all};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use read_model::projections::conversations::overview::{self, Overview};
use read_model::projections::search::search_overview;
use read_model::shards::{self, missing_tenants};
use read_model::{ReadModel, ReadModelError, replica_status, schema_status};
use registry::Registry;
use runtime::clock::Clock;
use tokio::time::{Instant, sleep};

use crate::readings::{
    Checkpoints, ErasedReading, ErasuresReading, PartitionReading, ReadModelReading, Readings, RecordReading,
    ReplicaReading, ShardReading,
};
use crate::roles::Role;

/// The deadline for rows to contain recent erasures.
const ERASED_DEADLINE: Duration = Duration::from_secs(2);
/// The deadline for a replica of Postgres to have what the primary has.
const REPLICA_DEADLINE: Duration = Duration::from_secs(2);
/// The polling interval.
const POLL: Duration = Duration::from_millis(100);
/// The number of erasures in progress among which the oldest is searched.
const ERASURES_READ_MAX: usize = 256;
/// Partitions that are read concurrently.
const PARTITIONS_IN_FLIGHT: usize = 16;

/// A reader, which keeps its connections between reads.
#[derive(Debug)]
pub struct Reader {
    source: Source,
    model: ReadModel,
    replicas: Vec<Replica>,
    /// The databases of some tenants, beside `model`: names and handles.
    shards: Vec<(String, ReadModel)>,
    roles: Option<Vec<Role>>,
    clock: Clock,
}

/// A replica of Postgres.
#[derive(Debug)]
struct Replica {
    name: String,
    model: ReadModel,
    primary: ReadModel,
}

/// Where the record is read, and with which rights.
#[derive(Debug)]
enum Source {
    /// With the rights of an operator; connects with the first read.
    Operator { config: Box<RecordConfig>, record: Option<Record> },
    /// With those of a gateway: it may read neither the list of erasures nor the catalogue of the archive, and sees the rows of one
    /// tenant. So causes of holes and the age of erasures stay unknown.
    Gateway { record: Record, registry: Registry },
}

impl Reader {
    /// Creates a reader with the rights of an operator. `roles`: the roles to read; `None`: none.
    #[must_use]
    pub fn new(config: RecordConfig, model: ReadModel, roles: Option<Vec<Role>>) -> Self {
        Self {
            source: Source::Operator { config: Box::new(config), record: None },
            model,
            replicas: Vec::new(),
            shards: Vec::new(),
            roles,
            clock: Clock::System,
        }
    }

    /// Adds replicas of a database, each with its name.
    #[must_use]
    pub fn with_replicas(mut self, primary: &ReadModel, replicas: Vec<(String, ReadModel)>) -> Self {
        let replicas = replicas.into_iter();
        self.replicas.extend(replicas.map(|(name, model)| Replica { name, model, primary: primary.clone() }));
        self
    }

    /// Adds the shards, each with its name or address. Their rows also explain holes that the erasures of their tenants made.
    #[must_use]
    pub fn with_shards(self, shards: Vec<(String, ReadModel)>) -> Self {
        Self { shards, ..self }
    }

    /// Creates a reader with the rights of a gateway, which reads no roles.
    #[must_use]
    pub fn of_gateway(record: Record, registry: Registry, model: ReadModel) -> Self {
        Self {
            source: Source::Gateway { record, registry },
            model,
            replicas: Vec::new(),
            shards: Vec::new(),
            roles: None,
            clock: Clock::System,
        }
    }

    /// Reads the current state.
    pub async fn read(&mut self) -> Readings {
        let roles = match &self.roles {
            Some(roles) => Some(join_all(roles.iter().map(Role::read)).await),
            None => None,
        };
        // The rows are read first, so that the record is never behind them.
        let read_model = self.read_model(&self.model).await;
        let mut shards = self.read_shards().await;
        let unread_tenants = self.unread_tenants().await;
        let checkpoints = read_model.as_ref().ok().map(|read| checkpoints_of(&read.overview));
        let record = self.read_record(checkpoints.as_ref()).await;
        if let (Ok(read), Some(record)) = (&record, self.record()) {
            for shard in &mut shards {
                shard.waits = waits(record, read, shard).await;
            }
        }
        let divergences = self.divergences().await;
        let erased = match (&record, &self.source) {
            (Ok(record), Source::Operator { .. })
                if unread_tenants == Some(0) && read_model.is_ok() && record.partitions.iter().any(has_others) =>
            {
                self.erased(record).await.ok().flatten()
            }
            _ => None,
        };
        Readings {
            now: Timestamp(self.clock.now_nanos()),
            erased,
            divergences,
            record: record.map_err(|error| error.to_string()),
            shards,
            unread_tenants,
            replicas: self.read_replicas().await,
            read_model: read_model.map_err(|error| error.to_string()),
            roles,
        }
    }

    /// The record; `None`: it was not read yet.
    fn record(&self) -> Option<&Record> {
        match &self.source {
            Source::Operator { record, .. } => record.as_ref(),
            Source::Gateway { record, .. } => Some(record),
        }
    }

    async fn read_record(&mut self, checkpoints: Option<&Checkpoints>) -> Result<RecordReading, RecordError> {
        let now = Timestamp(self.clock.now_nanos());
        match &mut self.source {
            Source::Gateway { record, registry } => {
                let count = record.count_pending_erasures().await?;
                let erasures = ErasuresReading { count, oldest: None };
                let secrets_in_clear = registry.count_plaintext_secrets();
                let ending_keys = registry.ending_keys(now);
                let archived = BTreeMap::new();
                let partitions = partitions(record, checkpoints, &archived).await?;
                Ok(RecordReading {
                    id: hex::encode(record.id().0),
                    durability: record.durability().await?,
                    secrets_in_clear,
                    ending_keys,
                    growing_to: growing_to(record),
                    partitions,
                    erasures,
                })
            }
            Source::Operator { config, record } => {
                let record = match record {
                    Some(record) => record,
                    None => record.insert(Record::open((**config).clone()).await?),
                };
                let archived = archived(record).await?;
                let registry = Registry::open(record).await?;
                Ok(RecordReading {
                    id: hex::encode(record.id().0),
                    durability: record.durability().await?,
                    secrets_in_clear: registry.count_plaintext_secrets(),
                    ending_keys: registry.ending_keys(now),
                    growing_to: growing_to(record),
                    partitions: partitions(record, checkpoints, &archived).await?,
                    erasures: erasures(record).await?,
                })
            }
        }
    }

    /// The divergences of the databases that answer.
    async fn divergences(&self) -> Vec<String> {
        let Some(record) = self.record() else {
            return Vec::new();
        };
        let mut divergences = Vec::new();
        for (shard, model) in
            std::iter::once((None, &self.model)).chain(self.shards.iter().map(|(name, model)| (Some(name), model)))
        {
            let found = divergence::find(record, model).await.unwrap_or_default();
            divergences.extend(found.iter().map(|one| match shard {
                Some(name) => format!("shard {name}, {one}"),
                None => one.to_string(),
            }));
        }
        divergences
    }

    /// A gateway may not read the list of a database, and reads all shards.
    async fn unread_tenants(&self) -> Option<usize> {
        if matches!(self.source, Source::Gateway { .. }) {
            return Some(0);
        }
        let shards: Vec<ReadModel> = self.shards.iter().map(|one| one.1.clone()).collect();
        let missing = missing_tenants(&self.model, &shards).await.ok()?;
        missing.map(|tenants| tenants.len())
    }

    /// What erasures removed, by the rows of all databases; `None`: there are too many.
    async fn erased(&self, record: &RecordReading) -> Result<Option<ErasedReading>, ReadModelError> {
        let shards = self.shards.iter().map(|one| one.1.clone());
        let databases = std::iter::once(self.model.clone()).chain(shards);
        let readings: Option<Vec<ErasedReading>> =
            try_join_all(databases.map(|model| erased(model, record))).await?.into_iter().collect();
        Ok(readings.and_then(|readings| readings.into_iter().reduce(ErasedReading::with)))
    }

    async fn read_replicas(&self) -> Vec<ReplicaReading> {
        let readings = self.replicas.iter().map(|replica| async move {
            let status = replica_status(&replica.primary, &replica.model, REPLICA_DEADLINE).await;
            ReplicaReading { name: replica.name.clone(), status: status.ok() }
        });
        join_all(readings).await
    }

    async fn read_shards(&self) -> Vec<ShardReading> {
        let shards = self.shards.iter().cloned();
        join_all(shards.map(|(address, model)| self.read_shard(address, model))).await
    }

    /// The lag in seconds is read later, when the end of the record is known.
    async fn read_shard(&self, address: String, model: ReadModel) -> ShardReading {
        // A gateway knows the name, and may not read it.
        let name = match self.source {
            Source::Operator { .. } => shards::name(&model).await.ok().flatten(),
            Source::Gateway { .. } => None,
        };
        let read_model = self.read_model(&model).await;
        ShardReading {
            name: name.unwrap_or(address),
            read_model: read_model.map_err(|error| error.to_string()),
            waits: BTreeMap::new(),
        }
    }

    async fn read_model(&self, model: &ReadModel) -> Result<ReadModelReading, ReadModelError> {
        let schema = schema_status(model).await?;
        let overview = match &self.source {
            Source::Operator { .. } => overview::overview(model).await?,
            Source::Gateway { .. } => overview::overview_by_reader(model).await?,
        };
        let has_search = schema.migrations.found >= schema.migrations.known;
        let search = if has_search { Some(search_overview(model).await?) } else { None };
        Ok(ReadModelReading { schema, overview, search })
    }
}

fn checkpoints_of(overview: &Overview) -> Checkpoints {
    let partitions = overview.partitions.iter();
    partitions.map(|partition| (partition.partition, partition.checkpoint)).collect()
}

/// Reads what erasures of the tenants of a database removed, after its rows have reached the end of the record, or after the deadline. A message is removed
/// after its tombstone is appended, so rows at that position contain every erasure that made a hole.
async fn erased(model: ReadModel, record: &RecordReading) -> Result<Option<ErasedReading>, ReadModelError> {
    let deadline = Instant::now() + ERASED_DEADLINE;
    loop {
        let checkpoints = checkpoints_of(&overview::overview(&model).await?);
        let is_reached = |read: &PartitionReading| {
            let projected = checkpoints.get(&read.partition).copied();
            projected.unwrap_or_default() >= read.status.bounds.last
        };
        let mut unexplained = record.partitions.iter().filter(|read| has_others(read));
        if unexplained.all(is_reached) || Instant::now() >= deadline {
            let commits = overview::erased_commits(&model).await?;
            return Ok(commits.map(|commits| ErasedReading { checkpoints, commits }));
        }
        sleep(POLL).await;
    }
}

/// Whether it has holes that the archive does not cause.
fn has_others(read: &PartitionReading) -> bool {
    read.status.removed() > read.archived
}

/// The number of partitions of a growth that has not ended.
fn growing_to(record: &Record) -> Option<u16> {
    let layout = record.layout();
    (layout.stage() != Stage::Open).then(|| layout.partitions())
}

async fn partitions(
    record: &Record,
    checkpoints: Option<&Checkpoints>,
    archived: &BTreeMap<Partition, u64>,
) -> Result<Vec<PartitionReading>, Unavailable> {
    stream::iter((0..record.partitions()).map(Partition))
        .map(|partition| {
            let archived = archived.get(&partition).copied().unwrap_or(0);
            read_partition(record, partition, checkpoints, archived)
        })
        .buffered(PARTITIONS_IN_FLIGHT)
        .try_collect()
        .await
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
        *archived.entry(Partition(entry.partition)).or_default() += sealed.map_or(0, |sealed| sealed.commits);
    }
    Ok(archived)
}

async fn read_partition(
    record: &Record,
    partition: Partition,
    checkpoints: Option<&Checkpoints>,
    archived: u64,
) -> Result<PartitionReading, Unavailable> {
    let status = record.partition_status(partition).await?;
    let waits = match checkpoints {
        Some(checkpoints) => first_without_rows(record, partition, status.bounds.last, checkpoints).await?,
        None => None,
    };
    Ok(PartitionReading { partition, status, archived, waits })
}

/// The first message of a partition without rows.
async fn first_without_rows(
    record: &Record,
    partition: Partition,
    last: Sequence,
    checkpoints: &Checkpoints,
) -> Result<Option<TimedSequence>, Unavailable> {
    // A partition without a checkpoint has no rows yet.
    let checkpoint = checkpoints.get(&partition).copied().unwrap_or(Sequence(0));
    if checkpoint >= last {
        return Ok(None);
    }
    record.next_after(partition, checkpoint).await
}

/// The first message of each partition without rows in a shard. What cannot be read is unknown.
async fn waits(record: &Record, read: &RecordReading, shard: &ShardReading) -> BTreeMap<Partition, TimedSequence> {
    let Ok(rows) = &shard.read_model else {
        return BTreeMap::new();
    };
    let checkpoints = checkpoints_of(&rows.overview);
    let ends: Vec<(Partition, Sequence)> =
        read.partitions.iter().map(|one| (one.partition, one.status.bounds.last)).collect();
    let waits = stream::iter(ends)
        .map(|(partition, last)| {
            let checkpoints = &checkpoints;
            async move {
                let first = first_without_rows(record, partition, last, checkpoints).await;
                Some((partition, first.ok()??))
            }
        })
        .buffered(PARTITIONS_IN_FLIGHT);
    waits.filter_map(std::future::ready).collect().await
}
