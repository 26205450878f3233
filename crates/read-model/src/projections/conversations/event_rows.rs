//! The rows of events. Pure.

use std::sync::LazyLock;

use domain::event::Usage;
use domain::{Annotation, Commit, Event, Fact, Label, Lifecycle, Sequence, ToolName};
use wire::commit::StoredCommit;

use super::cell::Cell;
use super::column::SqlType::{Bigint, Bytea, Smallint, Text, Timestamptz, Uuid};
use super::column::{Column, column, insert, names};
use crate::moment::{Moment, nanos_of};
use crate::queries::signed;

/// Inserts events: an array per column of [`ProjectedEvent::COLUMNS`].
pub(super) static INSERT_EVENTS: LazyLock<String> =
    LazyLock::new(|| insert("event", &[&ProjectedEvent::COLUMNS]));

/// An event, and what its row takes from its commit.
#[derive(Debug)]
pub(super) struct ProjectedEvent<'b> {
    commit: &'b Commit,
    sequence: Sequence,
    /// Its index in the commit.
    index: usize,
    event: &'b Event,
    body: &'b [u8],
    details: Details<'b>,
}

impl ProjectedEvent<'_> {
    /// All columns. A commit's first event also has what answers a retry.
    pub(super) const COLUMNS: [Column<Self>; 20] = [
        column("version", Bigint, |row| {
            Cell::number(signed(row.commit.first_version.plus(row.index).0))
        }),
        column("recorded_at", Timestamptz, |row| {
            Cell::moment(Moment::of(row.commit.recorded_at))
        }),
        column("occurred_at", Timestamptz, |row| {
            Cell::maybe(row.event.occurred_at.map(Moment::of), Cell::moment)
        }),
        column("input_tokens", Bigint, |row| {
            row.tokens(|usage| usage.input_tokens)
        }),
        column("output_tokens", Bigint, |row| {
            row.tokens(|usage| usage.output_tokens)
        }),
        column("cached_tokens", Bigint, |row| {
            row.tokens(|usage| usage.cached_tokens)
        }),
        column("sequence", Bigint, |row| {
            row.of_first(|row| Cell::number(signed(row.sequence.0)))
        }),
        column("commit_id", Uuid, |row| {
            Cell::bytes(row.commit.id.0.as_bytes().as_slice())
        }),
        column("recorded_nanos", Smallint, |row| {
            Cell::small(nanos_of(row.commit.recorded_at))
        }),
        column("commit_index", Smallint, |row| {
            Cell::small(small(row.index))
        }),
        column("event_count", Smallint, |row| {
            row.of_first(|row| Cell::small(small(row.commit.events.len())))
        }),
        column("kind", Smallint, |row| {
            Cell::small(row.event.fact.kind().code())
        }),
        column("role", Smallint, |row| {
            Cell::maybe(row.details.role, Cell::small)
        }),
        column("tenant_id", Text, |row| {
            Cell::text(row.commit.tenant.as_str())
        }),
        column("conversation_id", Text, |row| {
            Cell::text(row.commit.conversation.as_str())
        }),
        column("tool_name", Text, |row| {
            Cell::maybe(row.details.tool_name, Cell::text)
        }),
        column("call_id", Text, |row| {
            Cell::maybe(row.details.call_id, Cell::text)
        }),
        column("model", Text, |row| {
            Cell::maybe(row.details.model, Cell::text)
        }),
        column("request_digest", Bytea, |row| {
            row.of_first(|row| Cell::bytes(row.commit.request_digest.0.as_slice()))
        }),
        column("body", Bytea, |row| Cell::bytes(row.body)),
    ];

    /// The names of [`Self::COLUMNS`], for reads of whole rows.
    pub(super) fn names() -> String {
        names(&[&ProjectedEvent::COLUMNS], "")
    }

    fn tokens(&self, count: fn(&Usage) -> u64) -> Cell<'_> {
        let usage = self.details.usage;
        Cell::maybe(usage, |usage| Cell::number(signed(count(usage))))
    }

    /// What only the row of a commit's first event has.
    fn of_first<'r>(&'r self, cell: fn(&'r Self) -> Cell<'r>) -> Cell<'r> {
        if self.index == 0 {
            cell(self)
        } else {
            Cell::Null
        }
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

/// What people query of an event.
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
        Fact::Annotation(Annotation::HistorySummarised(summary)) => Details {
            model: summary.model.as_ref().map(Label::as_str),
            ..Details::default()
        },
        Fact::Lifecycle(Lifecycle::RunStarted(started)) => Details {
            model: started.model.as_ref().map(Label::as_str),
            ..Details::default()
        },
        Fact::Annotation(_) | Fact::Lifecycle(_) => Details::default(),
    }
}

/// A place in a commit, which holds 500 events at most.
fn small(number: usize) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}
