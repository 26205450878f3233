//! Computes the status from readings. Pure.

use std::time::Duration;

use domain::{Partition, Sequence, Timestamp};
use event_log::{Durability, TimedSequence};
use read_model::ReplicaStatus;
use read_model::projections::conversations::overview::PartitionOverview;
use registry::EndingKey;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::needs;
use crate::readings::{
    PartitionReading, ReadModelReading, Readings, RecordReading, ReplicaReading, RoleAnswer, RoleReading, ShardReading,
};
use crate::report::{
    Answer, ENDING_KEYS_MAX, EndingKeyStatus, Limits, PartitionRows, PartitionStatus, ReadModelStatus, RecordStatus,
    ReplicaReport, RoleStatus, SearchStatus, ShardPartition, ShardStatus, Status,
};

impl Status {
    /// Computes the status from readings.
    pub fn from_readings(readings: &Readings, limits: Limits) -> Self {
        let record = readings.record.as_ref();
        let read_model = readings.read_model.as_ref();
        let roles = readings.roles.as_ref();
        let partitions = record.into_iter().flat_map(|record| &record.partitions);
        let mut status = Self {
            at: rfc3339(readings.now),
            needs: Vec::new(),
            warnings: needs::warnings(readings),
            record: answer(record, record_status),
            read_model: answer(read_model, read_model_status),
            partitions: partitions.map(|partition| partition_status(partition, readings)).collect(),
            shards: readings.shards.iter().map(|shard| shard_status(shard, readings)).collect(),
            replicas: readings.replicas.iter().map(replica_report).collect(),
            search: search_status(readings),
            ending_keys: ending_keys(readings),
            roles: roles.map(|roles| roles.iter().map(role_status).collect()),
        };
        status.needs = needs::of(&status, readings, limits);
        status
    }
}

fn answer<T, U>(read: Result<&T, &String>, status: impl FnOnce(&T) -> U) -> Answer<U> {
    match read {
        Ok(read) => Answer::Received(status(read)),
        Err(error) => Answer::Failed { error: error.clone() },
    }
}

fn record_status(record: &RecordReading) -> RecordStatus {
    let partitions = &record.partitions;
    let statuses = || partitions.iter().map(|partition| &partition.status);
    RecordStatus {
        id: record.id.clone(),
        durability: match &record.durability {
            Durability::Durable => "durable".to_owned(),
            Durability::NotDurable { why } => format!("not durable: {why}"),
            Durability::Unknown => "unknown: give the URL of the server's monitoring port by --monitor-url".to_owned(),
        },
        group_commit_partitions: statuses().filter(|status| status.accepts_batches).count(),
        messages: statuses().map(|status| status.messages).sum(),
        size_bytes: statuses().map(|status| status.size_bytes).sum(),
        erasures_pending: record.erasures.count,
        erasures_pending_since: record.erasures.oldest.map(rfc3339),
    }
}

fn ending_keys(readings: &Readings) -> Vec<EndingKeyStatus> {
    let keys = readings.record.iter().flat_map(|record| &record.ending_keys).take(ENDING_KEYS_MAX);
    let status = |key: &EndingKey| EndingKeyStatus {
        kind: key.kind.as_str(),
        id: key.id.clone(),
        tenant: key.tenant.clone(),
        ends_at: rfc3339(key.ends_at),
        has_ended: key.has_ended(readings.now),
    };
    keys.map(status).collect()
}

fn replica_report(reading: &ReplicaReading) -> ReplicaReport {
    let (state, lag, error) = match &reading.status {
        None => ("unknown", None, None),
        Some(ReplicaStatus::Complete { lag }) => ("ready", Some(*lag), None),
        Some(ReplicaStatus::Lagging) => ("lagging", None, None),
        Some(ReplicaStatus::Unrelated) => ("not a replica of this database", None, None),
        Some(ReplicaStatus::Unreachable { reason }) => ("no answer", None, Some(reason.clone())),
    };
    ReplicaReport { name: reading.name.clone(), state, lag_seconds: lag.map(|lag| lag.as_secs_f64()), error }
}

fn read_model_status(read: &ReadModelReading) -> ReadModelStatus {
    let live = read.schema.live.iter();
    let projectors = read.overview.projectors.iter();
    let partitions = read.overview.partitions.iter();
    ReadModelStatus {
        migration: read.schema.migrations.found,
        migration_floor: read.schema.migrations.floor,
        migration_known: read.schema.migrations.known,
        live_schemas: live.map(|live| (live.projection.clone(), live.schema.clone())).collect(),
        projectors: projectors.map(|holder| holder.0.clone()).collect(),
        parked: partitions.map(|partition| partition.parked).sum(),
        read_only: read.schema.is_read_only,
    }
}

/// The state of the search; `None`: record or rows do not answer, or the rows have no search yet.
fn search_status(readings: &Readings) -> Option<SearchStatus> {
    let record = readings.record.as_ref().ok()?;
    let search = readings.read_model.as_ref().ok()?.search.as_ref()?;
    let lag = record.partitions.iter().map(|read| {
        let mut checkpoints = search.checkpoints.iter();
        let indexed =
            checkpoints.find(|(partition, _)| *partition == read.partition).map_or(0, |(_, sequence)| sequence.0);
        read.status.bounds.last.0.saturating_sub(indexed)
    });
    Some(SearchStatus {
        lag_sequences: lag.sum(),
        documents: search.documents,
        documents_bytes: search.documents_bytes,
        index_bytes: search.index_bytes,
    })
}

fn partition_status(read: &PartitionReading, readings: &Readings) -> PartitionStatus {
    let status = &read.status;
    let holes = Holes::of(read, readings);
    PartitionStatus {
        partition: read.partition.0,
        last: status.bounds.last.0,
        messages: status.messages,
        holes: holes.all,
        holes_archived: holes.archived,
        holes_erased: holes.erased,
        holes_unexplained: holes.unexplained,
        replicas: status.replicas.configured,
        leader: status.replicas.leader.clone(),
        behind: status.replicas.behind.clone(),
        rows: partition_rows(read, readings.read_model.as_ref().ok(), read.waits, readings),
    }
}

fn shard_status(shard: &ShardReading, readings: &Readings) -> ShardStatus {
    let rows = shard.read_model.as_ref();
    let partitions = readings.record.iter().flat_map(|record| &record.partitions).map(|read| ShardPartition {
        partition: read.partition.0,
        rows: partition_rows(read, rows.ok(), shard.waits.get(&read.partition).copied(), readings),
    });
    ShardStatus {
        name: shard.name.clone(),
        read_model: answer(rows, read_model_status),
        partitions: partitions.collect(),
    }
}

/// The projection of a partition in a database. `waits`: the first message without rows.
fn partition_rows(
    read: &PartitionReading,
    rows: Option<&ReadModelReading>,
    waits: Option<TimedSequence>,
    readings: &Readings,
) -> PartitionRows {
    let Some(rows) = rows else {
        return PartitionRows::default();
    };
    let overview = overview_of(read.partition, &rows.overview.partitions);
    let last = read.status.bounds.last.0;
    let age_ns = |stored_at: Timestamp| readings.now.0.saturating_sub(stored_at.0).max(0);
    let age = Duration::from_nanos(u64::try_from(waits.map_or(0, |waits| age_ns(waits.stored_at))).unwrap_or(0));
    PartitionRows {
        holder: overview.holder.map(|holder| holder.0),
        epoch: Some(overview.epoch),
        checkpoint: Some(overview.checkpoint.0),
        lag_sequences: Some(last.saturating_sub(overview.checkpoint.0)),
        lag_seconds: Some(age.as_secs_f64()),
        parked: Some(overview.parked),
    }
}

/// The overview of a partition; zero if no projector has taken it yet, because it then has no row.
fn overview_of(partition: Partition, all: &[PartitionOverview]) -> PartitionOverview {
    let found = all.iter().find(|one| one.partition == partition);
    found.cloned().unwrap_or(PartitionOverview {
        partition,
        epoch: 0,
        checkpoint: Sequence(0),
        holder: None,
        parked: 0,
    })
}

/// The holes of a partition by cause.
struct Holes {
    all: u64,
    archived: u64,
    erased: Option<u64>,
    unexplained: Option<u64>,
}

impl Holes {
    fn of(read: &PartitionReading, readings: &Readings) -> Self {
        let all = read.status.removed();
        let archived = read.archived.min(all);
        let others = all - archived;
        let erased = match others {
            0 => Some(0),
            _ => erased_of(read, readings).map(|erased| erased.min(others)),
        };
        Self { all, archived, erased, unexplained: erased.map(|erased| others - erased) }
    }
}

/// The number of commits that erasures removed from a partition; `None`: the projector may not have read all tombstones yet.
fn erased_of(read: &PartitionReading, readings: &Readings) -> Option<u64> {
    let known = readings.erased.as_ref()?;
    let projected = known.checkpoints.get(&read.partition).copied();
    if projected.unwrap_or_default() < read.status.bounds.last {
        return None;
    }
    let erased = known.commits.iter().find(|erased| erased.partition == read.partition);
    Some(erased.map_or(0, |erased| erased.commits))
}

fn role_status(read: &RoleReading) -> RoleStatus {
    let answer = read.answer.as_ref();
    RoleStatus {
        role: read.name.clone(),
        address: read.address.clone(),
        state: match answer {
            None => "no answer",
            Some(RoleAnswer { is_draining: true, .. }) => "draining",
            Some(RoleAnswer { is_ready: true, .. }) => "ready",
            Some(_) => "not ready",
        },
        missing: answer.map_or_else(Vec::new, |answer| answer.missing.clone()),
        version: answer.and_then(|answer| answer.version.clone()),
    }
}

/// The time to the second.
fn rfc3339(time: Timestamp) -> String {
    let time = OffsetDateTime::from_unix_timestamp(time.seconds()).ok();
    time.and_then(|time| time.format(&Rfc3339).ok()).unwrap_or_default()
}
