//! Lists what needs an operator. Pure.

use std::time::Duration;

use domain::Timestamp;
use event_log::Durability;
use read_model::{Compatibility, Migrations};
use registry::EndingKey;

use crate::readings::{PartitionReading, Readings, RecordReading, RolePresence};
use crate::report::{
    Answer, Limits, PartitionRows, PartitionStatus, ReadModelStatus, ReplicaReport, RoleStatus, ShardStatus, Status,
};

/// The age from which an erasure in progress needs an operator.
const ERASURE_AGE_MAX: Duration = Duration::from_hours(1);
/// The maximum number of partitions or keys in one line.
const NAMED_MAX: usize = 8;

/// What needs an operator, ordered from the record to single roles.
pub(crate) fn of(status: &Status, readings: &Readings, limits: Limits) -> Vec<String> {
    let mut needs = Vec::new();
    if let Answer::Failed { error } = &status.record {
        needs.push(format!("the record does not answer: {error}"));
    }
    if let Ok(record) = &readings.record
        && let Durability::NotDurable { why } = &record.durability
    {
        needs.push(format!("acknowledged commits can be lost: {why}"));
    }
    needs.extend(of_divergences(readings));
    needs.extend(of_erasures(readings));
    match &status.read_model {
        Answer::Failed { error } => {
            needs.push(format!("the read models do not answer: {error}"));
        }
        Answer::Received(read_model) => needs.extend(of_read_model(read_model)),
    }
    for shard in &status.shards {
        needs.extend(of_shard(shard, &status.partitions, limits));
    }
    needs.extend(status.replicas.iter().filter_map(of_replica));
    needs.extend(of_partitions(status, limits));
    let presence = readings.roles.iter().flatten().map(|role| role.presence);
    let roles = status.roles.iter().flatten().zip(presence);
    needs.extend(roles.filter_map(|(role, presence)| of_role(role, presence)));
    needs
}

/// What an operator should know, but needs no action yet.
pub(crate) fn warnings(readings: &Readings) -> Vec<String> {
    let record = readings.record.as_ref().ok();
    let warnings = [
        record.and_then(|record| of_ending_keys(record, readings.now)),
        record.and_then(|record| of_ended_keys(record, readings.now)),
        record.and_then(of_secrets),
        record.and_then(of_single_publishes),
        record.and_then(of_growth),
        of_unread_tenants(readings),
    ];
    warnings.into_iter().flatten().collect()
}

fn of_unread_tenants(readings: &Readings) -> Option<String> {
    let tenants = readings.unread_tenants.filter(|tenants| *tenants > 0)?;
    Some(format!("the rows of {tenants} tenants are in shards that were not read: give each with --shard-url"))
}

fn of_ending_keys(record: &RecordReading, now: Timestamp) -> Option<String> {
    let keys = names_of(record.ending_keys.iter().filter(|key| !key.has_ended(now)))?;
    let mend = "replace each with hansard key rotate, token create or signing-key add";
    Some(format!("keys that end within 14 days: {keys}; {mend}"))
}

fn of_ended_keys(record: &RecordReading, now: Timestamp) -> Option<String> {
    let keys = names_of(record.ending_keys.iter().filter(|key| key.has_ended(now)))?;
    let mend = "remove each with hansard key revoke, token revoke or signing-key retire";
    Some(format!("keys that have ended: {keys}; {mend}"))
}

/// The names of keys; `None`: there are none.
fn names_of<'a>(keys: impl Iterator<Item = &'a EndingKey>) -> Option<String> {
    let names = keys.map(|key| {
        let owner = if key.tenant.is_empty() { "all tenants" } else { &key.tenant };
        format!("{} {} of {owner}", key.kind.text(), key.id)
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| named(&names))
}

fn of_secrets(record: &RecordReading) -> Option<String> {
    let count = record.secrets_in_clear;
    (count > 0).then(|| {
        format!(
            "unencrypted secrets in the registry: {count}; set HANSARD_MASTER_KEY_FILE for writers and gateways, then run hansard master-key rotate"
        )
    })
}

fn of_single_publishes(record: &RecordReading) -> Option<String> {
    let without = |read: &&PartitionReading| !read.status.accepts_batches;
    let (count, all) = (record.partitions.iter().filter(without).count(), record.partitions.len());
    (count > 0).then(|| {
        format!(
            "commits of {count} of {all} partitions are published one by one: with nats-server 2.15 or later, run hansard bootstrap --partitions {all} as a NATS user that may change streams, then restart the writers"
        )
    })
}

fn of_growth(record: &RecordReading) -> Option<String> {
    let partitions = record.growing_to?;
    Some(format!(
        "the growth to {partitions} partitions has not ended: unless it runs, hansard partitions add {partitions} continues it"
    ))
}

fn of_divergences(readings: &Readings) -> Option<String> {
    let what = "rows and record do not belong together, and no role answers: restore the right record, or see hansard rebuild from-record --dry-run";
    (!readings.divergences.is_empty()).then(|| format!("{what}: {}", named(&readings.divergences)))
}

/// An erasure that takes longer than writers need for the longest conversation.
fn of_erasures(readings: &Readings) -> Option<String> {
    let erasures = readings.record.as_ref().ok()?.erasures;
    let age = Duration::from_nanos(readings.now.0.saturating_sub(erasures.oldest?.0).max(0).unsigned_abs());
    (age >= ERASURE_AGE_MAX).then(|| {
        format!(
            "{} erasures are in progress, the oldest for {} minutes: check that a writer runs, and its log",
            erasures.count,
            age.as_secs() / 60
        )
    })
}

fn of_read_model(read_model: &ReadModelStatus) -> Vec<String> {
    let migrations = Migrations {
        found: read_model.migration,
        floor: read_model.migration_floor,
        known: read_model.migration_known,
    };
    let mut needs: Vec<String> = of_read_only(read_model).into_iter().chain(of_migrations(migrations)).collect();
    if read_model.parked > 0 {
        let parked = read_model.parked;
        let what = "see hansard parked list";
        needs.push(format!("parked conversations: {parked}; {what}"));
    }
    needs
}

fn of_read_only(read_model: &ReadModelStatus) -> Option<String> {
    let what = "Postgres is read-only, so no projector can write: give projectors the URL of the primary, or reset default_transaction_read_only";
    read_model.read_only.then(|| what.to_owned())
}

fn of_migrations(migrations: Migrations) -> Option<String> {
    let Migrations { found, known, .. } = migrations;
    match migrations.compatibility() {
        Compatibility::Compatible => None,
        Compatibility::Outdated => Some(format!(
            "the schema is at migration {found}, this program needs {known}: start a projector of this version"
        )),
        Compatibility::Unknown => {
            Some(format!("the schema is at migration {found}, this program supports up to {known}: update the program"))
        }
    }
}

fn of_replica(replica: &ReplicaReport) -> Option<String> {
    let (name, state) = (&replica.name, replica.state);
    let error = replica.error.as_ref().map_or_else(String::new, |error| format!(", {error}"));
    // Without an answer of the primary, the read models do not answer either.
    let is_known = !matches!(state, "ready" | "unknown");
    is_known.then(|| format!("Postgres replica {name}: {state}{error}; reads use the primary meanwhile"))
}

fn of_shard(shard: &ShardStatus, partitions: &[PartitionStatus], limits: Limits) -> Vec<String> {
    let name = &shard.name;
    let read_model = match &shard.read_model {
        Answer::Failed { error } => return vec![format!("shard {name} does not answer: {error}")],
        Answer::Received(read_model) => read_model,
    };
    let rows: Vec<_> = partitions.iter().zip(&shard.partitions).map(|(stream, shard)| (stream, &shard.rows)).collect();
    let mut needs = of_read_model(read_model);
    needs.extend(of_rows(&rows, read_model, limits));
    let needs = needs.into_iter();
    needs.map(|need| format!("shard {name}: {need}")).collect()
}

/// Whether a partition has a problem.
type Check<'a, T> = (&'a str, &'a dyn Fn(&T) -> bool);

fn of_partitions(status: &Status, limits: Limits) -> Vec<String> {
    let partitions = &status.partitions;
    let rows: Vec<_> = partitions.iter().map(|one| (one, &one.rows)).collect();
    let mut needs = match &status.read_model {
        Answer::Received(read_model) => of_rows(&rows, read_model, limits),
        Answer::Failed { .. } => Vec::new(),
    };
    needs.extend(found(
        partitions,
        |one| one.partition,
        &[
            ("messages are missing without an archive run or erasure, run hansard verify, in", &|one| {
                one.holes_unexplained > Some(limits.unexplained_max)
            }),
            ("no NATS server leads", &|one| one.replicas > 1 && one.leader.is_none()),
            ("replicas are offline or lag in", &|one| !one.behind.is_empty()),
        ],
    ));
    needs
}

/// What partitions and their rows in a database need. Projectors hold no partitions of a read-only database.
fn of_rows(
    partitions: &[(&PartitionStatus, &PartitionRows)],
    read_model: &ReadModelStatus,
    limits: Limits,
) -> Vec<String> {
    let lag_max = limits.lag_max.as_secs_f64();
    found(
        partitions,
        |(one, _)| one.partition,
        &[
            ("no projector holds", &|(_, rows)| rows.epoch.is_some() && rows.holder.is_none() && !read_model.read_only),
            ("rows lag in", &|(_, rows)| rows.lag_seconds > Some(lag_max)),
        ],
    )
}

/// A line for each check that finds partitions.
fn found<T>(all: &[T], number: impl Fn(&T) -> u16, checks: &[Check<'_, T>]) -> Vec<String> {
    let needs = checks.iter().filter_map(|(what, is_so)| {
        let found: Vec<String> = all.iter().filter(|one| is_so(one)).map(|one| number(one).to_string()).collect();
        let plural = if found.len() == 1 { "" } else { "s" };
        (!found.is_empty()).then(|| format!("{what} partition{plural} {}", named(&found)))
    });
    needs.collect()
}

/// Names in one line, at most [`NAMED_MAX`].
fn named(names: &[String]) -> String {
    let shown = names.get(..NAMED_MAX).unwrap_or(names).join(", ");
    match names.len().saturating_sub(NAMED_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn of_role(role: &RoleStatus, presence: RolePresence) -> Option<String> {
    let text = format!("{} at {}: {}", role.role, role.address, role.state);
    match (role.state, presence) {
        ("ready", _) | ("no answer", RolePresence::Optional) => None,
        _ if role.missing.is_empty() => Some(text),
        _ => Some(format!("{text}, {}", role.missing.join(", "))),
    }
}
