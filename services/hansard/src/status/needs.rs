//! What of a report needs an operator, in words. Pure.

use std::time::Duration;

use event_log::Durability;

use super::readings::{Expected, Readings};
use super::report::{Answer, Limits, PartitionStatus, ReadModelStatus, RoleStatus, Status};

/// For how long an erasure may be in progress until an operator must look.
const ERASURE_AGE_MAX: Duration = Duration::from_hours(1);
/// Most partitions that are named in one line.
const NAMED_MAX: usize = 8;

/// What needs an operator, the widest first.
pub(super) fn of(status: &Status, readings: &Readings, limits: Limits) -> Vec<String> {
    let mut needs = Vec::new();
    if let Answer::Silent { error } = &status.record {
        needs.push(format!("the record does not answer: {error}"));
    }
    if let Ok(record) = &readings.record
        && let Durability::NotDurable { why } = &record.durability
    {
        needs.push(format!("acknowledged commits can be lost: {why}"));
    }
    needs.extend(of_erasures(readings));
    match &status.read_model {
        Answer::Silent { error } => {
            needs.push(format!("the read models do not answer: {error}"));
        }
        Answer::Told(told) => needs.extend(of_read_model(told)),
    }
    needs.extend(of_partitions(&status.partitions, limits));
    let expected = readings.roles.iter().flatten().map(|role| role.expected);
    let roles = status.roles.iter().flatten().zip(expected);
    needs.extend(roles.filter_map(|(role, expected)| of_role(role, expected)));
    needs
}

/// What is no trouble yet, and should be known.
pub(super) fn warnings(readings: &Readings) -> Vec<String> {
    let record = readings.record.as_ref();
    let count = record.map_or(0, |record| record.secrets_in_clear);
    if count == 0 {
        return Vec::new();
    }
    vec![format!(
        "secrets that are kept in clear: {count}; give writers and gateways HANSARD_MASTER_KEY_FILE, then run hansard master-key rotate"
    )]
}

/// An erasure that takes longer than writers need for the longest conversations.
fn of_erasures(readings: &Readings) -> Option<String> {
    let erasures = readings.record.as_ref().ok()?.erasures;
    let age = readings.now.0.saturating_sub(erasures.oldest?.0).max(0);
    let age = Duration::from_nanos(age.unsigned_abs());
    (age >= ERASURE_AGE_MAX).then(|| {
        format!(
            "{} erasures are in progress, the oldest for {} minutes: is a writer running? its log says what stops it",
            erasures.count,
            age.as_secs() / 60
        )
    })
}

fn of_read_model(told: &ReadModelStatus) -> Vec<String> {
    let (found, known) = (told.migration, told.migration_known);
    let mut needs = Vec::new();
    if found < known {
        needs.push(format!(
            "the schema has migration {found}, {known} is needed: start a projector of this version"
        ));
    }
    if found > known {
        needs.push(format!(
            "the schema has migration {found}, this program knows up to {known}: update the program"
        ));
    }
    if told.parked > 0 {
        let parked = told.parked;
        needs.push(format!(
            "conversations that cannot be projected: {parked}; see hansard parked list"
        ));
    }
    needs
}

/// Whether a partition is in a kind of trouble.
type Check<'a> = &'a dyn Fn(&PartitionStatus) -> bool;

fn of_partitions(partitions: &[PartitionStatus], limits: Limits) -> Vec<String> {
    let checks: [(&str, Check<'_>); 6] = [
        (
            "the record ends before the rows do: it has lost its end in",
            &|one| {
                one.checkpoint
                    .is_some_and(|checkpoint| checkpoint > one.last)
            },
        ),
        (
            "messages are gone that neither the archive nor an erasure explains, see hansard verify, from",
            &|one| {
                one.holes_unexplained
                    .is_some_and(|count| count > limits.unexplained_max)
            },
        ),
        ("nobody projects", &|one| {
            one.epoch.is_some() && one.holder.is_none()
        }),
        ("rows are late in", &|one| {
            one.lag_seconds
                .is_some_and(|lag| lag > limits.lag_max.as_secs_f64())
        }),
        ("no server leads", &|one| {
            one.replicas > 1 && one.leader.is_none()
        }),
        ("replicas are away or behind in", &|one| {
            !one.behind.is_empty()
        }),
    ];
    let told = checks.into_iter().filter_map(|(what, is_so)| {
        let found: Vec<String> = partitions
            .iter()
            .filter(|one| is_so(one))
            .map(|one| one.partition.to_string())
            .collect();
        (!found.is_empty()).then(|| format!("{what} {}", named(&found)))
    });
    told.collect()
}

fn named(partitions: &[String]) -> String {
    let what = if partitions.len() == 1 {
        "partition"
    } else {
        "partitions"
    };
    let shown: Vec<&str> = partitions
        .iter()
        .take(NAMED_MAX)
        .map(String::as_str)
        .collect();
    let shown = shown.join(", ");
    match partitions.len().saturating_sub(NAMED_MAX) {
        0 => format!("{what} {shown}"),
        more => format!("{what} {shown} and {more} more"),
    }
}

fn of_role(role: &RoleStatus, expected: Expected) -> Option<String> {
    let RoleStatus {
        role: name,
        address,
        state,
        missing,
        ..
    } = role;
    match (*state, expected) {
        ("ready", _) | ("no answer", Expected::Guessed) => None,
        _ if missing.is_empty() => Some(format!("{name} at {address}: {state}")),
        _ => Some(format!(
            "{name} at {address}: {state}, {}",
            missing.join(", ")
        )),
    }
}
