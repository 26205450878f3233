//! A report as tables for people.

use std::io::{self, Write};

use super::report::{Answer, PartitionStatus, RoleStatus, Status};
use crate::progress::grouped;
use crate::table;

/// How much of a projector's name is shown: its end tells it from the others.
const HOLDER_SHOWN: usize = 8;
/// What stands for what nobody told.
const UNKNOWN: &str = "?";

/// Writes a report.
///
/// # Errors
/// The output is closed.
pub fn write(out: &mut impl Write, status: &Status) -> io::Result<()> {
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
        None => writeln!(out, "roles: not asked")?,
        Some(roles) => {
            let rows: Vec<_> = roles.iter().map(role).collect();
            let header = ["ROLE", "ADDRESS", "STATE", "VERSION", "MISSES"];
            table::write(out, header, &rows)?;
        }
    }
    writeln!(out)?;
    for warning in &status.warnings {
        writeln!(out, "warning: {warning}")?;
    }
    if status.needs.is_empty() {
        return writeln!(out, "all is well");
    }
    writeln!(out, "needs an operator:")?;
    for need in &status.needs {
        writeln!(out, "  {need}")?;
    }
    Ok(())
}

fn record(status: &Status) -> String {
    match &status.record {
        Answer::Silent { error } => format!("no answer: {error}"),
        Answer::Told(told) => format!(
            "{} partitions, {} messages, {} bytes; {}",
            status.partitions.len(),
            grouped(told.messages),
            grouped(told.size_bytes),
            told.durability,
        ),
    }
}

/// The erasures in progress; `None`: there is none.
fn erasures(status: &Status) -> Option<String> {
    let Answer::Told(record) = &status.record else {
        return None;
    };
    let since = record.erasures_pending_since.as_deref().unwrap_or(UNKNOWN);
    let count = record.erasures_pending;
    (count > 0).then(|| format!("{} in progress, the oldest since {since}", grouped(count)))
}

fn read_model(status: &Status) -> String {
    match &status.read_model {
        Answer::Silent { error } => format!("no answer: {error}"),
        Answer::Told(told) => {
            let live = told.live_schemas.iter();
            let live: Vec<String> = live
                .map(|(name, live)| format!("{name} in {live}"))
                .collect();
            format!(
                "migration {} of {}; {}; {} parked",
                told.migration,
                told.migration_known,
                live.join(", "),
                grouped(told.parked),
            )
        }
    }
}

fn projectors(status: &Status) -> String {
    match &status.read_model {
        Answer::Silent { .. } => UNKNOWN.to_owned(),
        Answer::Told(told) if told.projectors.is_empty() => "none is alive".to_owned(),
        Answer::Told(told) => {
            let names: Vec<&str> = told.projectors.iter().map(|name| short(name)).collect();
            format!("{} alive: {}", names.len(), names.join(", "))
        }
    }
}

fn partition(status: &PartitionStatus) -> [String; 11] {
    let number = |number: Option<u64>| number.map_or_else(|| UNKNOWN.to_owned(), grouped);
    let seconds = status.lag_seconds;
    let holder = match (&status.holder, status.epoch) {
        (Some(holder), _) => short(holder),
        (None, Some(_)) => "nobody",
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
    let told = match (status.holes_erased, status.holes_unexplained) {
        (Some(erased), Some(unexplained)) => [(erased, " erased"), (unexplained, " unexplained")],
        _ => [(others, ""), (0, "")],
    };
    let archived = (status.holes_archived, " in the archive");
    let told = std::iter::once(archived).chain(told);
    let told = told.filter(|(count, _)| *count > 0);
    let told: Vec<String> = told
        .map(|(count, what)| format!("{}{what}", grouped(count)))
        .collect();
    if told.is_empty() {
        return "0".to_owned();
    }
    told.join(", ")
}

fn leader(status: &PartitionStatus) -> String {
    let leader = status.leader.as_deref().unwrap_or(UNKNOWN);
    let mut text = match status.replicas {
        1 => leader.to_owned(),
        replicas => format!("{leader} of {replicas}"),
    };
    if !status.behind.is_empty() {
        text = format!("{text}, behind: {}", status.behind.join(", "));
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
