//! Writes the status as text and tables.

use std::io::{self, Write};

use super::report::{Answer, PartitionStatus, RoleStatus, Status};
use crate::progress::grouped;
use crate::table;

/// The length of the printed end of a projector's name, which distinguishes it from others.
const HOLDER_SHOWN: usize = 8;
/// The text for an unknown value.
const UNKNOWN: &str = "?";

/// Writes the status.
pub(crate) fn write(out: &mut impl Write, status: &Status) -> io::Result<()> {
    writeln!(out, "{:12}{}", "record", record(status))?;
    if let Some(erasures) = erasures(status) {
        writeln!(out, "{:12}{erasures}", "erasures")?;
    }
    writeln!(out, "{:12}{}", "read models", read_model(status))?;
    writeln!(out, "{:12}{}", "projectors", projectors(status))?;
    if !status.partitions.is_empty() {
        writeln!(out)?;
        let header = [
            "PARTITION",
            "MESSAGES",
            "LAST",
            "ROWS TO",
            "LAG",
            "SECONDS",
            "HOLDER",
            "EPOCH",
            "PARKED",
            "HOLES",
            "LEADER",
        ];
        let rows: Vec<_> = status.partitions.iter().map(partition).collect();
        table::write(out, header, &rows)?;
    }
    writeln!(out)?;
    match &status.roles {
        None => writeln!(out, "roles: not read")?,
        Some(roles) => {
            let rows: Vec<_> = roles.iter().map(role).collect();
            let header = ["ROLE", "ADDRESS", "STATE", "VERSION", "MISSING"];
            table::write(out, header, &rows)?;
        }
    }
    writeln!(out)?;
    for warning in &status.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    if status.needs.is_empty() {
        return writeln!(out, "healthy");
    }
    writeln!(out, "needs an operator:")?;
    for need in &status.needs {
        writeln!(out, "  {need}")?;
    }
    Ok(())
}

fn record(status: &Status) -> String {
    match &status.record {
        Answer::Failed { error } => format!("no answer: {error}"),
        Answer::Received(record) => format!(
            "{} partitions, {} messages, {} bytes; {}",
            status.partitions.len(),
            grouped(record.messages),
            grouped(record.size_bytes),
            record.durability,
        ),
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

fn read_model(status: &Status) -> String {
    match &status.read_model {
        Answer::Failed { error } => format!("no answer: {error}"),
        Answer::Received(read_model) => {
            let live = read_model.live_schemas.iter();
            let live = live.map(|(name, live)| format!("{name} in {live}"));
            let live = live.collect::<Vec<_>>();
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

fn projectors(status: &Status) -> String {
    match &status.read_model {
        Answer::Failed { .. } => UNKNOWN.to_owned(),
        Answer::Received(read_model) if read_model.projectors.is_empty() => "none".to_owned(),
        Answer::Received(read_model) => {
            let names = read_model.projectors.iter();
            let names: Vec<&str> = names.map(|name| short(name)).collect();
            format!("{} alive: {}", names.len(), names.join(", "))
        }
    }
}

fn partition(status: &PartitionStatus) -> [String; 11] {
    let number = |number: Option<u64>| number.map_or_else(|| UNKNOWN.to_owned(), grouped);
    let seconds = status.lag_seconds;
    let holder = match (&status.holder, status.epoch) {
        (Some(holder), _) => short(holder),
        (None, Some(_)) => "none",
        (None, None) => UNKNOWN,
    };
    [
        status.partition.to_string(),
        grouped(status.messages),
        grouped(status.last),
        number(status.checkpoint),
        number(status.lag_sequences),
        seconds.map_or_else(|| UNKNOWN.to_owned(), |seconds| format!("{seconds:.1}")),
        holder.to_owned(),
        number(status.epoch),
        number(status.parked),
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
    let holes = std::iter::once(archived).chain(others);
    let holes = holes.filter(|(count, _)| *count > 0);
    let holes = holes.map(|(count, what)| format!("{}{what}", grouped(count)));
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

fn role(status: &RoleStatus) -> [String; 5] {
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

#[cfg(test)]
mod tests;
