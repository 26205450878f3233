//! Computes the expected rows of a record with the simple fold, column by column.

use domain::event::Usage;
use domain::{Annotation, ConversationKey, Event, Fact, Head, Lifecycle, Owner, Status, Timestamp};
use prost::Message as _;
use serde_json::{Value, json};
use wire::conversation::client_context_to_proto;

use super::erasure::tombstone;
use super::model;
use super::record::RecordedCommit;
use super::row::Row;

const NANOS_PER_MICRO: i64 = 1_000;

/// The row of a conversation; `None` when the history does not start with a creation.
pub(super) fn conversation(key: &ConversationKey, commits: &[RecordedCommit]) -> Option<Row> {
    let last = commits.last()?;
    let commit = &last.opened.commit;
    let erased = tombstone(commits).is_some();
    // The head of an erased conversation cannot be computed from its tombstone; `commits` has checked it.
    let head = if erased { commit.head.clone() } else { model::head_after(commits)? };
    let created_at = if erased { commit } else { &commits.first()?.opened.commit }.recorded_at;
    let context = model::client_context(commits);
    let has_context = context != domain::ClientContext::default();
    let owner = owner_of(&head);
    let row = json!({
        "tenant_id": key.tenant.as_str(),
        "conversation_id": key.conversation.as_str(),
        "agent_id": head.agent.as_str(),
        "user_id": owner.0,
        "session_id": owner.1,
        "channel_id": owner.2,
        "active_run_id": head.active_run.map(|run| run.id.to_string()),
        "forked_from": head.forked_from.as_ref().map(|from| from.conversation.as_str()),
        "version": head.version.0,
        "partition": last.position.partition.0,
        "sequence": last.position.sequence.0,
        "created_at": micros(created_at),
        "created_nanos": nanos(created_at),
        "last_event_at": micros(head.last_event_at),
        "status": match head.status {
            Status::Active => 1,
            Status::Archived => 2,
            Status::Erased => 3,
        },
        "head": bytea(&wire::head::to_proto(&head).encode_to_vec()),
        "title": model::title(commits),
        "metadata_json": model::metadata(commits).map(|json| json.as_str().to_owned()),
        "stored_bytes": if erased { 0 } else { stored_bytes(commits) },
        "client_context":
            has_context.then(|| bytea(&client_context_to_proto(&context).encode_to_vec())),
    });
    fields(row)
}

/// The encodings of all events, and 512 bytes a commit.
fn stored_bytes(commits: &[RecordedCommit]) -> usize {
    let events = commits.iter().flat_map(|stored| &stored.opened.event_bytes);
    events.map(bytes::Bytes::len).sum::<usize>() + 512 * commits.len()
}

/// The rows of a conversation's events, each with its version; an erased conversation has none.
pub(super) fn events(key: &ConversationKey, commits: &[RecordedCommit]) -> Vec<(u64, Row)> {
    if tombstone(commits).is_some() {
        return Vec::new();
    }
    let versions = model::first_version(commits)..;
    let placed = commits.iter().flat_map(|stored| {
        let bytes = stored.opened.event_bytes.iter();
        let events = stored.opened.commit.events.iter().zip(bytes).enumerate();
        events.map(move |(index, (event, bytes))| (stored, index, event, bytes))
    });
    let rows = versions.zip(placed).filter_map(|(version, (stored, index, event, bytes))| {
        let mut row = common(key, stored, version, index)?;
        row.insert("body".to_owned(), bytea(bytes).into());
        row.append(&mut details(event)?);
        Some((version, row))
    });
    rows.collect()
}

fn common(key: &ConversationKey, stored: &RecordedCommit, version: u64, index: usize) -> Option<Row> {
    let commit = &stored.opened.commit;
    let first = index == 0;
    let row = json!({
        "tenant_id": key.tenant.as_str(),
        "conversation_id": key.conversation.as_str(),
        "version": version,
        "commit_id": commit.id.to_string(),
        "commit_index": index,
        "recorded_at": micros(commit.recorded_at),
        "recorded_nanos": nanos(commit.recorded_at),
        "sequence": first.then_some(stored.position.sequence.0),
        "event_count": first.then_some(commit.events.len()),
        "request_digest": first.then(|| bytea(&commit.request_digest.0)),
    });
    fields(row)
}

fn details(event: &Event) -> Option<Row> {
    let (role, tool, call, model, usage) = match &event.fact {
        Fact::MessageAppended(message) => {
            let (role, usage) = (message.role.code(), message.usage.as_ref());
            (Some(role), None, None, message.model.as_ref(), usage)
        }
        Fact::ToolCalled(made) => {
            let (tool, call) = (Some(made.tool_name.as_str()), Some(made.call_id.as_str()));
            (None, tool, call, made.model.as_ref(), None)
        }
        Fact::ToolReturned(result) => {
            let tool = result.tool_name.as_ref().map(domain::ToolName::as_str);
            (None, tool, Some(result.call_id.as_str()), None, None)
        }
        Fact::Annotation(Annotation::HistorySummarised(summary)) => (None, None, None, summary.model.as_ref(), None),
        Fact::Lifecycle(Lifecycle::RunStarted(started)) => (None, None, None, started.model.as_ref(), None),
        Fact::Annotation(_) | Fact::Lifecycle(_) => (None, None, None, None, None),
    };
    let tokens = |count: fn(&Usage) -> u64| usage.map(count);
    let row = json!({
        "occurred_at": event.occurred_at.map(micros),
        "kind": event.fact.kind().code(),
        "role": role,
        "tool_name": tool,
        "call_id": call,
        "model": model.map(domain::Label::as_str),
        "input_tokens": tokens(|usage| usage.input_tokens),
        "output_tokens": tokens(|usage| usage.output_tokens),
        "cached_tokens": tokens(|usage| usage.cached_tokens),
    });
    fields(row)
}

/// The user, the session or the channel.
fn owner_of(head: &Head) -> (Option<&str>, Option<&str>, Option<&str>) {
    match &head.owner {
        Some(Owner::User(user)) => (Some(user.as_str()), None, None),
        Some(Owner::Session(session)) => (None, Some(session.as_str()), None),
        Some(Owner::Channel(channel)) => (None, None, Some(channel.as_str())),
        None => (None, None, None),
    }
}

/// The microsecond that contains a time.
fn micros(time: Timestamp) -> i64 {
    time.0.div_euclid(NANOS_PER_MICRO)
}

fn nanos(time: Timestamp) -> i64 {
    time.0.rem_euclid(NANOS_PER_MICRO)
}

/// Bytes as Postgres writes them.
fn bytea(bytes: &[u8]) -> String {
    format!("\\x{}", hex::encode(bytes))
}

fn fields(row: Value) -> Option<Row> {
    match row {
        Value::Object(fields) => Some(fields),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}
