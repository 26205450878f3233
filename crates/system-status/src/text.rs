//! The status as texts: the lines and cells of `hansard status` and of the System page.

use indicatif::HumanCount;

use crate::report::{Answer, PartitionStatus, ReadModelStatus, ReplicaReport, RoleStatus, ShardStatus, Status};

/// The length of the shown end of a projector's name, which distinguishes it from others.
const HOLDER_SHOWN: usize = 8;
/// The text for an unknown value.
const UNKNOWN: &str = "?";

/// The heads of the columns of [`partition_cells`].
pub const PARTITION_COLUMNS: [&str; 11] =
    ["PARTITION", "MESSAGES", "LAST", "ROWS TO", "LAG", "SECONDS", "HOLDER", "EPOCH", "PARKED", "HOLES", "LEADER"];
/// The heads of the columns of [`role_cells`].
pub const ROLE_COLUMNS: [&str; 5] = ["ROLE", "ADDRESS", "STATE", "VERSION", "MISSING"];

/// Name and text of the parts of a system, in order.
#[must_use]
pub fn facts(status: &Status) -> Vec<(&'static str, String)> {
    let mut facts = vec![("record", record(status))];
    facts.extend(erasures(status).map(|text| ("erasures", text)));
    facts.push(("read models", read_model(&status.read_model)));
    facts.extend(status.shards.iter().map(|one| ("shard", shard(one))));
    facts.extend(status.replicas.iter().map(|one| ("replica", replica(one))));
    facts.push(("search", search(status)));
    facts.push(("projectors", projectors(status)));
    facts
}

fn record(status: &Status) -> String {
    match &status.record {
        Answer::Failed { error } => format!("no answer: {error}"),
        Answer::Received(record) => format!(
            "{} partitions, {} messages, {} bytes; {}; group commit {}",
            status.partitions.len(),
            grouped(record.messages),
            grouped(record.size_bytes),
            record.durability,
            group_commit(record.group_commit_partitions, status.partitions.len()),
        ),
    }
}

fn group_commit(partitions: usize, all: usize) -> String {
    match partitions {
        0 => "off".to_owned(),
        _ if partitions == all => "on".to_owned(),
        _ => format!("in {partitions} of {all} partitions"),
    }
}

/// The erasures in progress, if any.
fn erasures(status: &Status) -> Option<String> {
    let Answer::Received(record) = &status.record else {
        return None;
    };
    let since = record.erasures_pending_since.as_deref().unwrap_or(UNKNOWN);
    let count = record.erasures_pending;
    (count > 0).then(|| format!("{} in progress, the oldest since {since}", grouped(count)))
}

fn read_model(answer: &Answer<ReadModelStatus>) -> String {
    match answer {
        Answer::Failed { error } => format!("no answer: {error}"),
        Answer::Received(read_model) => {
            let live =
                read_model.live_schemas.iter().map(|(name, live)| format!("{name} in {live}")).collect::<Vec<_>>();
            format!(
                "migration {} of {}; {}; {} parked",
                read_model.migration,
                read_model.migration_known,
                live.join(", "),
                grouped(read_model.parked),
            )
        }
    }
}

fn shard(shard: &ShardStatus) -> String {
    let (name, rows) = (&shard.name, read_model(&shard.read_model));
    let lags = shard.partitions.iter().map(|one| one.rows.lag_sequences);
    let lag: Option<u64> = lags.sum();
    match (&shard.read_model, lag) {
        (Answer::Received(_), Some(lag)) => format!("{name}: {rows}; lag {}", grouped(lag)),
        _ => format!("{name}: {rows}"),
    }
}

fn replica(replica: &ReplicaReport) -> String {
    let lag = replica.lag_seconds.map_or_else(String::new, |lag| format!(", lag {lag:.2} s"));
    format!("{}: {}{lag}", replica.name, replica.state)
}

fn search(status: &Status) -> String {
    let Some(search) = status.search else {
        return UNKNOWN.to_owned();
    };
    format!(
        "lag {}; about {} documents, {} bytes, indexes {} bytes",
        grouped(search.lag_sequences),
        grouped(search.documents),
        grouped(search.documents_bytes),
        grouped(search.index_bytes),
    )
}

fn projectors(status: &Status) -> String {
    match &status.read_model {
        Answer::Failed { .. } => UNKNOWN.to_owned(),
        Answer::Received(read_model) if read_model.projectors.is_empty() => "none".to_owned(),
        Answer::Received(read_model) => {
            let names: Vec<&str> = read_model.projectors.iter().map(|name| short(name)).collect();
            format!("{} alive: {}", names.len(), names.join(", "))
        }
    }
}

/// The cells of a partition.
#[must_use]
pub fn partition_cells(status: &PartitionStatus) -> [String; 11] {
    let number = |number: Option<u64>| number.map_or_else(|| UNKNOWN.to_owned(), grouped);
    let rows = &status.rows;
    let seconds = rows.lag_seconds;
    let holder = match (&rows.holder, rows.epoch) {
        (Some(holder), _) => short(holder),
        (None, Some(_)) => "none",
        (None, None) => UNKNOWN,
    };
    [
        status.partition.to_string(),
        grouped(status.messages),
        grouped(status.last),
        number(rows.checkpoint),
        number(rows.lag_sequences),
        seconds.map_or_else(|| UNKNOWN.to_owned(), |seconds| format!("{seconds:.1}")),
        holder.to_owned(),
        number(rows.epoch),
        number(rows.parked),
        holes(status),
        leader(status),
    ]
}

fn holes(status: &PartitionStatus) -> String {
    let others = status.holes.saturating_sub(status.holes_archived);
    let others = match (status.holes_erased, status.holes_unexplained) {
        (Some(erased), Some(unexplained)) => [(erased, " erased"), (unexplained, " unexplained")],
        _ => [(others, ""), (0, "")],
    };
    let archived = (status.holes_archived, " in the archive");
    let holes = std::iter::once(archived)
        .chain(others)
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{}{what}", grouped(count)));
    match &holes.collect::<Vec<_>>()[..] {
        [] => "0".to_owned(),
        holes => holes.join(", "),
    }
}

fn leader(status: &PartitionStatus) -> String {
    let leader = status.leader.as_deref().unwrap_or(UNKNOWN);
    let mut text = match status.replicas {
        1 => leader.to_owned(),
        replicas => format!("{leader} of {replicas}"),
    };
    if !status.behind.is_empty() {
        text = format!("{text}, offline or lagging: {}", status.behind.join(", "));
    }
    text
}

/// The cells of a role.
#[must_use]
pub fn role_cells(status: &RoleStatus) -> [String; 5] {
    [
        status.role.clone(),
        status.address.clone(),
        status.state.to_owned(),
        status.version.clone().unwrap_or_default(),
        status.missing.join(", "),
    ]
}

fn short(holder: &str) -> &str {
    let cut = holder.len().saturating_sub(HOLDER_SHOWN);
    holder.get(cut..).unwrap_or(holder)
}

/// A number with separators of thousands.
fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}
