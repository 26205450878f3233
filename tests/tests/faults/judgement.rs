//! The end of every test: all that was tried, against the record, the rows and what readers are told.

use std::collections::BTreeSet;
use std::time::Duration;

use event_log::Record;
use serde_json::Value;
use tests::checker::{
    self, Call, Finding, Outcome, Reading, Recorded, Report, Rows, check_readings, check_rows,
    check_seen,
};
use tests::eventually::eventually;

use crate::ground::Ground;
use crate::table::{Row, enter, say};
use crate::workload::Tried;

/// The only reasons for which a command of the load may be refused for good.
const REASONS: [&str; 7] = [
    "VERSION_CONFLICT",
    "CONVERSATION_EXISTS",
    "CONVERSATION_ARCHIVED",
    "CONVERSATION_ERASED",
    "TOOL_CALL_NOT_OPEN",
    "TOOL_CALL_ALREADY_OPEN",
    "SUMMARY_STALE",
];
/// How many conversations are read through the gateway.
const READ_MAX: usize = 24;
const CONTEXT_MESSAGES: u32 = 50;

/// Waits for the rows, judges everything, prints the report and fails on any finding. `lines` say more of the test.
pub(crate) async fn judge(
    ground: &mut Ground,
    title: &str,
    tried: &Tried,
    lines: &[(&str, String)],
) {
    let record = ground.record().await;
    projected(ground, &record).await;
    let recorded = recorded(&record).await;
    let (psql, url) = ground.psql();
    let rows = Rows::read(&psql, &url).await.expect("the rows");
    let readings = read(ground, tried).await;
    let mut findings = checker::judge(&tried.calls, &recorded);
    findings.extend(check_rows(&recorded, &rows));
    findings.extend(check_readings(&recorded, &readings));
    findings.extend(check_seen(&tried.calls, &tried.seen));
    let report = report(title, tried, &recorded, findings);
    let report = report.with("fresh reads under load", tried.seen.len());
    let stall = longest_stall(&tried.calls).as_millis();
    let report = report.with("longest time without an acknowledgement, ms", stall);
    let report = report.with("conversations read through the gateway", readings.len());
    let report = lines
        .iter()
        .fold(report, |report, (name, value)| report.with(name, value));
    conclude(&report, tried);
}

/// The table of counts.
pub(crate) fn report(
    title: &str,
    tried: &Tried,
    recorded: &Recorded,
    findings: Vec<Finding>,
) -> Report {
    Report::new(title, &tried.calls, recorded, findings).with("seed (FAULT_SEED)", tried.seed)
}

/// Prints the report, and fails unless all is as it must be.
pub(crate) fn conclude(report: &Report, tried: &Tried) {
    say(&format!("\n{report}"));
    enter(report.title(), Row::of(report));
    assert!(report.findings().is_empty(), "{report}");
    let reasons: BTreeSet<&str> = tried
        .calls
        .iter()
        .filter_map(|call| match &call.outcome {
            Outcome::Refused(refusal) => Some(refusal.reason.as_str()),
            Outcome::Committed(_) | Outcome::Unchanged | Outcome::Unknown => None,
        })
        .filter(|reason| !REASONS.contains(reason))
        .collect();
    assert_eq!(reasons, BTreeSet::new(), "refusals that have no cause");
    let unknown = tried
        .calls
        .iter()
        .filter(|call| call.outcome == Outcome::Unknown)
        .count();
    assert_eq!(unknown, 0, "commands whose outcome could never be learnt");
}

/// The longest time between two acknowledgements.
fn longest_stall(calls: &[Call]) -> Duration {
    let acknowledged = calls.iter().filter(|call| call.answer().is_some());
    let mut times: Vec<Duration> = acknowledged.map(|call| call.settled).collect();
    times.sort_unstable();
    let pauses = times
        .iter()
        .zip(times.iter().skip(1))
        .map(|(one, next)| next.saturating_sub(*one));
    pauses.max().unwrap_or_default()
}

/// Waits until every partition is projected to its end.
pub(crate) async fn projected(ground: &mut Ground, record: &Record) {
    let mut ends = Vec::new();
    for partition in 0..record.partitions() {
        let bounds = record
            .bounds_of(domain::Partition(partition))
            .await
            .expect("bounds");
        ends.push((partition, bounds.last.0));
    }
    let (psql, url) = ground.psql();
    eventually("rows as far as the record", || async {
        let sql = "SELECT to_jsonb(t) FROM conversations_v1.checkpoint AS t";
        let checkpoints = checker::query(&psql, &url, sql).await.ok()?;
        let is_there = |(partition, end): &(u16, u64)| {
            checkpoints.iter().any(|row| {
                row.get("partition").and_then(Value::as_u64) == Some(u64::from(*partition))
                    && row.get("sequence").and_then(Value::as_u64) >= Some(*end)
            })
        };
        ends.iter().all(is_there).then_some(())
    })
    .await;
}

/// The record once no erasure is in progress: an answer promises the tombstone, and the list what is left to remove.
pub(crate) async fn recorded(record: &Record) -> Recorded {
    eventually("no erasure in progress", || async {
        let pending = record.count_pending_erasures().await.ok()?;
        (pending == 0).then_some(())
    })
    .await;
    Recorded::read(record).await.expect("the record")
}

/// Reads some of the conversations that were written to and are there, as everybody else reads them.
pub(crate) async fn read(ground: &Ground, tried: &Tried) -> Vec<Reading> {
    let mut readings = Vec::new();
    for conversation in tried.conversations().into_iter().take(READ_MAX) {
        let name = conversation.conversation.as_str();
        let events = ground.agent.events(ground.agent.list_request(name)).await;
        let context = ground.agent.context(name, CONTEXT_MESSAGES).await;
        readings.push(Reading {
            conversation,
            events,
            context,
        });
    }
    readings
}
