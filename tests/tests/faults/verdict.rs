//! The final checks of every test: compares all calls with the record, the rows and the answers to readers.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::ConversationKey;
use event_log::Record;
use futures::{StreamExt as _, stream};
use serde_json::Value;
use tests::agent::Agent;
use tests::checker::{
    self, Call, Finding, Outcome, Reading, RecordContents, Report, Rows, check_fresh_reads, check_readings, check_rows,
};
use tests::eventually::eventually;
use tokio::join;

use crate::fixture::{Fixture, OTHER_TENANT};
use crate::table::{Row, add, print};
use crate::workload::WorkloadResult;

/// The only allowed reasons for a rejected command of the load.
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
const READ_AT_ONCE: usize = 8;
const CONTEXT_MESSAGES: u32 = 50;

/// Waits for the rows, checks everything, prints the report and fails on any finding. `lines` are added to the report.
pub(crate) async fn check_all(fixture: &mut Fixture, title: &str, tried: &WorkloadResult, lines: &[(&str, String)]) {
    let record = fixture.record().await;
    wait_for_rows(fixture, &record).await;
    let mut recorded = read_record(&record).await;
    let (psql, url) = fixture.psql();
    let mut rows = Rows::read(&psql, &url).await.expect("the rows");
    let is_of_load = |key: &ConversationKey| key.tenant.as_str() != OTHER_TENANT;
    recorded.conversations.retain(|key, _| is_of_load(key));
    rows.conversations.retain(|key, _| is_of_load(key));
    rows.events.retain(|(key, _), _| is_of_load(key));
    let readings = read(fixture, tried).await;
    let mut findings = checker::check_calls(&tried.calls, &recorded);
    findings.extend(check_rows(&recorded, &rows));
    findings.extend(check_readings(&recorded, &readings));
    findings.extend(check_fresh_reads(&tried.calls, &tried.seen));
    let report = report(title, tried, &recorded, findings).with("fresh reads under load", tried.seen.len());
    let stall = longest_stall(&tried.calls).as_millis();
    let report = report
        .with("longest time without an acknowledgement, ms", stall)
        .with("conversations read through the gateway", readings.len());
    let report = lines.iter().fold(report, |report, (name, value)| report.with(name, value));
    conclude(&report, tried);
}

/// The table of counts.
pub(crate) fn report(title: &str, tried: &WorkloadResult, recorded: &RecordContents, findings: Vec<Finding>) -> Report {
    Report::new(title, &tried.calls, recorded, findings).with("seed (FAULT_SEED)", tried.seed)
}

/// Prints the report, and fails on a finding or an unexpected reason.
pub(crate) fn conclude(report: &Report, tried: &WorkloadResult) {
    print(&format!("\n{report}"));
    add(report.title(), Row::of(report));
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
    assert_eq!(reasons, BTreeSet::new(), "rejections without a cause");
    let unknown = tried.calls.iter().filter(|call| call.outcome == Outcome::Unknown).count();
    assert_eq!(unknown, 0, "commands whose outcome stayed unknown");
}

/// The longest time between two acknowledgements.
fn longest_stall(calls: &[Call]) -> Duration {
    let acknowledged = calls.iter().filter(|call| call.answer().is_some());
    let mut times: Vec<Duration> = acknowledged.map(|call| call.settled).collect();
    times.sort_unstable();
    let pauses = times.iter().zip(times.iter().skip(1)).map(|(one, next)| next.saturating_sub(*one));
    pauses.max().unwrap_or_default()
}

/// Waits until every partition is projected to its end.
pub(crate) async fn wait_for_rows(fixture: &mut Fixture, record: &Record) {
    let mut ends = Vec::new();
    for partition in 0..record.partitions() {
        let bounds = record.bounds_of(domain::Partition(partition)).await.expect("bounds");
        ends.push((partition, bounds.last.0));
    }
    let (psql, url) = fixture.psql();
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

/// Reads the record after all erasures are finished. An answer guarantees the tombstone; pending removals are in the
/// list.
pub(crate) async fn read_record(record: &Record) -> RecordContents {
    eventually("no erasure in progress", || async {
        let pending = record.count_pending_erasures().await.ok()?;
        (pending == 0).then_some(())
    })
    .await;
    RecordContents::read(record).await.expect("the record")
}

/// Reads some of the written conversations that exist, as usual readers do.
pub(crate) async fn read(fixture: &Fixture, tried: &WorkloadResult) -> Vec<Reading> {
    let conversations = tried.conversations().into_iter().take(READ_MAX);
    read_all(&fixture.agent, conversations).await
}

/// Reads conversations of an agent, in their order.
pub(crate) async fn read_all(agent: &Agent, conversations: impl IntoIterator<Item = ConversationKey>) -> Vec<Reading> {
    let readings = conversations.into_iter().map(async |conversation| {
        let name = conversation.conversation.as_str();
        let (events, context) = join!(agent.events(agent.list_request(name)), agent.context(name, CONTEXT_MESSAGES));
        Reading { conversation, events, context }
    });
    stream::iter(readings).buffered(READ_AT_ONCE).collect().await
}
