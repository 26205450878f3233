//! The columns of events. Pure, but for being bound.

use domain::event::Usage;
use domain::{Fact, Label, ToolName};
use sqlx::postgres::PgArguments;
use uuid::Uuid;

use super::batch::PlacedCommit;
use super::cell::Cell;
use crate::moment::{Moment, nanos_of};
use crate::queries::{bind, signed};

/// The columns, in the order of every statement that has all of them.
pub(super) const EVENT_COLUMNS: [&str; 20] = [
    "version",
    "recorded_at",
    "occurred_at",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "sequence",
    "commit_id",
    "recorded_nanos",
    "commit_index",
    "event_count",
    "kind",
    "role",
    "tenant_id",
    "conversation_id",
    "tool_name",
    "call_id",
    "model",
    "request_digest",
    "body",
];

/// One list a column, all of one length: what `UNNEST` takes.
#[derive(Debug, Default)]
pub(super) struct EventRows<'b> {
    version: Vec<i64>,
    recorded_at: Vec<Moment>,
    occurred_at: Vec<Option<Moment>>,
    input_tokens: Vec<Option<i64>>,
    output_tokens: Vec<Option<i64>>,
    cached_tokens: Vec<Option<i64>>,
    sequence: Vec<Option<i64>>,
    commit_id: Vec<Uuid>,
    recorded_nanos: Vec<i16>,
    commit_index: Vec<i16>,
    event_count: Vec<Option<i16>>,
    kind: Vec<i16>,
    role: Vec<Option<i16>>,
    tenant_id: Vec<&'b str>,
    conversation_id: Vec<&'b str>,
    tool_name: Vec<Option<&'b str>>,
    call_id: Vec<Option<&'b str>>,
    model: Vec<Option<&'b str>>,
    request_digest: Vec<Option<&'b [u8]>>,
    body: Vec<&'b [u8]>,
}

impl<'b> EventRows<'b> {
    pub(super) fn is_empty(&self) -> bool {
        self.version.is_empty()
    }

    /// Adds a commit's events.
    pub(super) fn add(&mut self, placed: &'b PlacedCommit) {
        columns_of(placed).for_each(|event| self.push(&event));
    }

    /// One row, in the order of [`EVENT_COLUMNS`]; `None`: there are not so many.
    pub(super) fn cells(&self, row: usize) -> Option<[Cell<'_>; 20]> {
        Some([
            Cell::number(*self.version.get(row)?),
            Cell::moment(*self.recorded_at.get(row)?),
            Cell::maybe(*self.occurred_at.get(row)?, Cell::moment),
            Cell::maybe(*self.input_tokens.get(row)?, Cell::number),
            Cell::maybe(*self.output_tokens.get(row)?, Cell::number),
            Cell::maybe(*self.cached_tokens.get(row)?, Cell::number),
            Cell::maybe(*self.sequence.get(row)?, Cell::number),
            Cell::Bytes(self.commit_id.get(row)?.as_bytes()),
            Cell::small(*self.recorded_nanos.get(row)?),
            Cell::small(*self.commit_index.get(row)?),
            Cell::maybe(*self.event_count.get(row)?, Cell::small),
            Cell::small(*self.kind.get(row)?),
            Cell::maybe(*self.role.get(row)?, Cell::small),
            Cell::text(self.tenant_id.get(row)?),
            Cell::text(self.conversation_id.get(row)?),
            Cell::maybe(*self.tool_name.get(row)?, Cell::text),
            Cell::maybe(*self.call_id.get(row)?, Cell::text),
            Cell::maybe(*self.model.get(row)?, Cell::text),
            Cell::maybe(*self.request_digest.get(row)?, Cell::Bytes),
            Cell::Bytes(self.body.get(row)?),
        ])
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.version.len()
    }

    /// The arguments of `insert_events.sql`.
    pub(super) fn bind(self) -> PgArguments {
        let arguments = bind(PgArguments::default(), self.version);
        let arguments = bind(arguments, self.recorded_at);
        let arguments = bind(arguments, self.occurred_at);
        let arguments = bind(arguments, self.input_tokens);
        let arguments = bind(arguments, self.output_tokens);
        let arguments = bind(arguments, self.cached_tokens);
        let arguments = bind(arguments, self.sequence);
        let arguments = bind(arguments, self.commit_id);
        let arguments = bind(arguments, self.recorded_nanos);
        let arguments = bind(arguments, self.commit_index);
        let arguments = bind(arguments, self.event_count);
        let arguments = bind(arguments, self.kind);
        let arguments = bind(arguments, self.role);
        let arguments = bind(arguments, self.tenant_id);
        let arguments = bind(arguments, self.conversation_id);
        let arguments = bind(arguments, self.tool_name);
        let arguments = bind(arguments, self.call_id);
        let arguments = bind(arguments, self.model);
        let arguments = bind(arguments, self.request_digest);
        bind(arguments, self.body)
    }

    fn push(&mut self, event: &EventColumns<'b>) {
        self.version.push(event.version);
        self.recorded_at.push(event.recorded_at);
        self.occurred_at.push(event.occurred_at);
        self.input_tokens.push(event.input_tokens);
        self.output_tokens.push(event.output_tokens);
        self.cached_tokens.push(event.cached_tokens);
        self.sequence.push(event.sequence);
        self.commit_id.push(event.commit_id);
        self.recorded_nanos.push(event.recorded_nanos);
        self.commit_index.push(event.commit_index);
        self.event_count.push(event.event_count);
        self.kind.push(event.kind);
        self.role.push(event.role);
        self.tenant_id.push(event.tenant_id);
        self.conversation_id.push(event.conversation_id);
        self.tool_name.push(event.tool_name);
        self.call_id.push(event.call_id);
        self.model.push(event.model);
        self.request_digest.push(event.request_digest);
        self.body.push(event.body);
    }
}

/// The columns of one event.
#[derive(Debug)]
pub(super) struct EventColumns<'b> {
    pub(super) version: i64,
    pub(super) recorded_at: Moment,
    pub(super) occurred_at: Option<Moment>,
    pub(super) input_tokens: Option<i64>,
    pub(super) output_tokens: Option<i64>,
    pub(super) cached_tokens: Option<i64>,
    pub(super) sequence: Option<i64>,
    pub(super) commit_id: Uuid,
    pub(super) recorded_nanos: i16,
    pub(super) commit_index: i16,
    pub(super) event_count: Option<i16>,
    pub(super) kind: i16,
    pub(super) role: Option<i16>,
    pub(super) tenant_id: &'b str,
    pub(super) conversation_id: &'b str,
    pub(super) tool_name: Option<&'b str>,
    pub(super) call_id: Option<&'b str>,
    pub(super) model: Option<&'b str>,
    pub(super) request_digest: Option<&'b [u8]>,
    pub(super) body: &'b [u8],
}

/// The columns of a commit's events, in order.
pub(super) fn columns_of(placed: &PlacedCommit) -> impl Iterator<Item = EventColumns<'_>> {
    let commit = &placed.opened.commit;
    let bodies = placed.opened.event_bytes.iter();
    let events = commit.events.iter().zip(bodies).enumerate();
    events.map(|(index, (event, body))| {
        let first = index == 0;
        let details = details_of(&event.fact);
        let tokens = |count: fn(&Usage) -> u64| details.usage.map(|usage| signed(count(usage)));
        EventColumns {
            version: signed(commit.first_version.plus(index).0),
            recorded_at: Moment::of(commit.recorded_at),
            occurred_at: event.occurred_at.map(Moment::of),
            input_tokens: tokens(|usage| usage.input_tokens),
            output_tokens: tokens(|usage| usage.output_tokens),
            cached_tokens: tokens(|usage| usage.cached_tokens),
            sequence: first.then(|| signed(placed.position.sequence.0)),
            commit_id: commit.id.0,
            recorded_nanos: nanos_of(commit.recorded_at),
            commit_index: small(index),
            event_count: first.then(|| small(commit.events.len())),
            kind: event.fact.kind().code(),
            role: details.role,
            tenant_id: commit.tenant.as_str(),
            conversation_id: commit.conversation.as_str(),
            tool_name: details.tool_name,
            call_id: details.call_id,
            model: details.model,
            request_digest: first.then_some(commit.request_digest.0.as_slice()),
            body,
        }
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
        Fact::HistorySummarised(summary) => Details {
            model: summary.model.as_ref().map(Label::as_str),
            ..Details::default()
        },
        Fact::RunStarted(started) => Details {
            model: started.model.as_ref().map(Label::as_str),
            ..Details::default()
        },
        Fact::SystemNoted(_)
        | Fact::ErrorOccurred(_)
        | Fact::ConversationCreated(_)
        | Fact::ConversationUpdated(_)
        | Fact::ConversationArchived
        | Fact::ConversationRestored
        | Fact::ConversationErased
        | Fact::HistoryRewound(_)
        | Fact::OwnerChanged(_)
        | Fact::RunStopRequested(_)
        | Fact::RunFinished(_) => Details::default(),
    }
}

/// A place in a commit, which holds 500 events at most.
fn small(number: usize) -> i16 {
    i16::try_from(number).unwrap_or(i16::MAX)
}
