//! The rows of events. Pure.

use std::sync::LazyLock;

use domain::event::Usage;
use domain::{Annotation, Commit, Event, Fact, Label, Lifecycle, Sequence, ToolName};
use wire::commit::StoredCommit;

use super::cell::Cell;
use super::column::SqlType::{Bigint, Bytea, Smallint, Text, Timestamptz, Uuid};
use super::column::{Column, column, insert, names};
use crate::pg_timestamp::nanos_of;

/// Inserts events: an array per column of [`ProjectedEvent::COLUMNS`].
pub(super) static INSERT_EVENTS: LazyLock<String> = LazyLock::new(|| insert("event", &[&ProjectedEvent::COLUMNS]));

/// An event, and the fields of its commit that its row contains.
#[derive(Debug)]
pub(super) struct ProjectedEvent<'b> {
    commit: &'b Commit,
    sequence: Sequence,
    index: usize,
    event: &'b Event,
    body: &'b [u8],
    details: Details<'b>,
}

impl ProjectedEvent<'_> {
    /// All columns. The first event of a commit also has the columns that answer a retry.
    #[rustfmt::skip]
    pub(super) const COLUMNS: [Column<Self>; 20] = [
        column("version", Bigint, |row| Cell::bigint(row.commit.first_version.plus(row.index).0)),
        column("recorded_at", Timestamptz, |row| Cell::timestamp(row.commit.recorded_at)),
        column("occurred_at", Timestamptz, |row| Cell::optional(row.event.occurred_at, Cell::timestamp)),
        column("input_tokens", Bigint, |row| row.tokens(|usage| usage.input_tokens)),
        column("output_tokens", Bigint, |row| row.tokens(|usage| usage.output_tokens)),
        column("cached_tokens", Bigint, |row| row.tokens(|usage| usage.cached_tokens)),
        column("sequence", Bigint, |row| row.first_only(|row| Cell::bigint(row.sequence.0))),
        column("commit_id", Uuid, |row| Cell::bytes(row.commit.id.0.as_bytes().as_slice())),
        column("recorded_nanos", Smallint, |row| Cell::smallint(nanos_of(row.commit.recorded_at))),
        column("commit_index", Smallint, |row| Cell::smallint(small(row.index))),
        column("event_count", Smallint, |row| row.first_only(|row| Cell::smallint(small(row.commit.events.len())))),
        column("kind", Smallint, |row| Cell::smallint(row.event.fact.kind().code())),
        column("role", Smallint, |row| Cell::optional(row.details.role, Cell::smallint)),
        column("tenant_id", Text, |row| Cell::text(row.commit.tenant.as_str())),
        column("conversation_id", Text, |row| Cell::text(row.commit.conversation.as_str())),
        column("tool_name", Text, |row| Cell::optional(row.details.tool_name, Cell::text)),
        column("call_id", Text, |row| Cell::optional(row.details.call_id, Cell::text)),
        column("model", Text, |row| Cell::optional(row.details.model, Cell::text)),
        column("request_digest", Bytea, |row| row.first_only(|row| Cell::bytes(row.commit.request_digest.0.as_slice()))),
        column("body", Bytea, |row| Cell::bytes(row.body)),
    ];

    /// The names of [`Self::COLUMNS`], for reads of complete rows.
    pub(super) fn names() -> String {
        names(&[&ProjectedEvent::COLUMNS], "")
    }

    fn tokens(&self, count: fn(&Usage) -> u64) -> Cell<'_> {
        let usage = self.details.usage;
        Cell::optional(usage, |usage| Cell::bigint(count(usage)))
    }

    /// The cell if this is the first event of its commit, else `NULL`.
    fn first_only<'r>(&'r self, cell: fn(&'r Self) -> Cell<'r>) -> Cell<'r> {
        if self.index == 0 { cell(self) } else { Cell::Null }
    }
}

/// The rows of a commit's events, in order.
pub(super) fn event_rows(stored: &StoredCommit) -> impl Iterator<Item = ProjectedEvent<'_>> {
    let commit = &stored.opened.commit;
    let bodies = stored.opened.event_bytes.iter();
    let events = commit.events.iter().zip(bodies).enumerate();
    events.map(|(index, (event, body))| ProjectedEvent {
        commit,
        sequence: stored.position.sequence,
        index,
        event,
        body,
        details: details_of(&event.fact),
    })
}

/// The fields of an event that can be queried.
#[derive(Debug, Default)]
struct Details<'b> {
    role: Option<i16>,
    tool_name: Option<&'b str>,
    call_id: Option<&'b str>,
    model: Option<&'b str>,
    usage: Option<&'b Usage>,
}

fn details_of(fact: &Fact) -> Details<'_> {
    match fact {
        Fact::MessageAppended(message) => Details {
            role: Some(message.role.code()),
            model: message.model.as_ref().map(Label::as_str),
            usage: message.usage.as_ref(),
            ..Details::default()
        },
        Fact::ToolCalled(call) => Details {
            tool_name: Some(call.tool_name.as_str()),
            call_id: Some(call.call_id.as_str()),
            model: call.model.as_ref().map(Label::as_str),
            ..Details::default()
        },
        Fact::ToolReturned(result) => Details {
            tool_name: result.tool_name.as_ref().map(ToolName::as_str),
            call_id: Some(result.call_id.as_str()),
            ..Details::default()
        },
        Fact::Annotation(Annotation::HistorySummarised(summary)) => {
            Details { model: summary.model.as_ref().map(Label::as_str), ..Details::default() }
        }
        Fact::Lifecycle(Lifecycle::RunStarted(started)) => {
            Details { model: started.model.as_ref().map(Label::as_str), ..Details::default() }
        }
        Fact::Annotation(_) | Fact::Lifecycle(_) => Details::default(),
    }
}

/// An index or a count in a commit, which has at most 500 events.
fn small(number: usize) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}
