//! Reads the tables of the read model with `psql`, and compares them with the record.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use domain::{Change, Conversation, ConversationId, ConversationKey, TenantId};
use serde_json::Value;
use tokio::process::Command;
use tokio::time::timeout;

use super::expected_rows;
use super::finding::{Finding, Kind};
use super::model;
use super::record::{RecordContents, RecordedCommit};
use super::row::Row;

/// The timeout of one query.
const QUERY_TIMEOUT: Duration = Duration::from_mins(1);

/// The tables of the `conversations` projection.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    /// Conversations.
    pub conversations: BTreeMap<ConversationKey, Row>,
    /// Events, by conversation and version.
    pub events: BTreeMap<(ConversationKey, u64), Row>,
    /// Parked conversations.
    pub parked: BTreeMap<ConversationKey, Row>,
    /// The checkpoint of each partition, by its number.
    pub checkpoints: BTreeMap<u64, Row>,
}

impl Rows {
    /// Reads all tables, each as of one moment; nothing may write meanwhile.
    ///
    /// # Errors
    /// Postgres fails, or a row has no key.
    pub async fn read(psql: &Path, url: &str) -> anyhow::Result<Self> {
        let mut rows = Self::default();
        for row in query(psql, url, &select("conversation", &["created_at", "last_event_at"])).await? {
            rows.conversations.insert(key_of(&row)?, row);
        }
        for row in query(psql, url, &select("event", &["recorded_at", "occurred_at"])).await? {
            let version = row.get("version").and_then(Value::as_u64).context("no version")?;
            rows.events.insert((key_of(&row)?, version), row);
        }
        for row in query(psql, url, &select("parked_conversation", &[])).await? {
            rows.parked.insert(key_of(&row)?, row);
        }
        for row in query(psql, url, &select("checkpoint", &[])).await? {
            let partition = row.get("partition").and_then(Value::as_u64).context("no partition")?;
            rows.checkpoints.insert(partition, row);
        }
        Ok(rows)
    }
}

/// All rows of a table, one row per line, with exact times.
fn select(table: &str, times: &[&str]) -> String {
    let exact_time =
        |column: &&str| format!("|| jsonb_build_object('{column}', (extract(epoch FROM {column}) * 1000000)::bigint)");
    let exact = times.iter().map(exact_time).collect::<Vec<_>>().join(" ");
    format!("SELECT to_jsonb(t) {exact} FROM conversations_v1.{table} AS t")
}

/// The rows of a query with one JSON column.
///
/// # Errors
/// Postgres does not answer in time, or fails.
pub async fn query(psql: &Path, url: &str, sql: &str) -> anyhow::Result<Vec<Row>> {
    let output = Command::new(psql)
        .args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--command", sql, url])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(QUERY_TIMEOUT, output).await.context("Postgres does not answer")??;
    if !output.status.success() {
        bail!("psql: {}", String::from_utf8_lossy(&output.stderr));
    }
    let lines = std::str::from_utf8(&output.stdout)?.lines();
    Ok(lines.map(serde_json::from_str).collect::<Result<_, _>>()?)
}

fn key_of(row: &Row) -> anyhow::Result<ConversationKey> {
    let text = |column: &str| row.get(column).and_then(Value::as_str).unwrap_or_default();
    Ok(ConversationKey {
        tenant: TenantId::parse(text("tenant_id"))?,
        conversation: ConversationId::parse(text("conversation_id"))?,
    })
}

/// Checks each column of each row against the record, and that there are no other rows.
#[must_use]
pub fn check(recorded: &RecordContents, rows: &Rows) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (key, parked) in &rows.parked {
        findings.push(Finding::new(Kind::Parked, key, format!("{:?}", parked.get("reason"))));
    }
    let mut founded = BTreeSet::new();
    for (key, commits) in &recorded.conversations {
        findings.extend(check_folds(key, commits));
        let Some(expected) = expected_rows::conversation(key, commits) else {
            continue;
        };
        findings.extend(check_row(key, "conversation", &expected, rows.conversations.get(key)));
        for (version, expected) in expected_rows::events(key, commits) {
            let place = (key.clone(), version);
            let table = format!("event {version}");
            findings.extend(check_row(key, &table, &expected, rows.events.get(&place)));
            founded.insert(place);
        }
    }
    for key in rows.conversations.keys().filter(|key| !recorded.conversations.contains_key(*key)) {
        findings.push(Finding::new(Kind::RowUnfounded, key, "the record knows no such conversation"));
    }
    for place in rows.events.keys().filter(|place| !founded.contains(*place)) {
        findings.push(Finding::new(Kind::RowUnfounded, &place.0, format!("event {}", place.1)));
    }
    findings
}

fn check_row(key: &ConversationKey, table: &str, expected: &Row, found: Option<&Row>) -> Option<Finding> {
    let Some(found) = found else {
        return Some(Finding::new(Kind::RowMissing, key, table));
    };
    let columns: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
    let differing: Vec<String> = columns
        .into_iter()
        .filter(|column| expected.get(*column) != found.get(*column))
        .map(|column| {
            let text_of = |row: &Row| row.get(column).map_or("no such column".to_owned(), shorten);
            format!("{column} is {}, expected {}", text_of(found), text_of(expected))
        })
        .collect();
    (!differing.is_empty()).then(|| Finding::new(Kind::RowDiffers, key, format!("{table}: {}", differing.join("; "))))
}

fn shorten(value: &Value) -> String {
    const CHARS_MAX: usize = 60;
    value.to_string().chars().take(CHARS_MAX).collect()
}

/// Compares the domain's fold of rows with the simple one.
fn check_folds(key: &ConversationKey, commits: &[RecordedCommit]) -> Option<Finding> {
    let folded = fold(commits)?;
    let is_same = folded.title == model::title(commits)
        && folded.metadata == model::metadata(commits)
        && folded.client_context == model::client_context(commits)
        && Some(&folded.head) == model::head_after(commits).as_ref();
    (!is_same).then(|| Finding::new(Kind::WrongHead, key, "the two folds come to different conversations"))
}

fn fold(commits: &[RecordedCommit]) -> Option<Conversation> {
    let (first, rest) = commits.split_first()?;
    let mut change = Change::new(&first.opened.commit, first.position);
    for next in rest {
        change.absorb(&next.opened.commit, next.position);
    }
    change.apply(None)
}
