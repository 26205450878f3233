//! The columns of events. Pure, but for being bound.

use domain::event::Usage;
use domain::{Event, Fact, Label, ToolName};
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
        let commit = &placed.opened.commit;
        let count = small(commit.events.len());
        let bodies = placed.opened.event_bytes.iter();
        for (index, (event, body)) in commit.events.iter().zip(bodies).enumerate() {
            let first = index == 0;
            self.version
                .push(signed(commit.first_version.plus(index).0));
            self.recorded_at.push(Moment::of(commit.recorded_at));
            self.recorded_nanos.push(nanos_of(commit.recorded_at));
            self.commit_id.push(commit.id.0);
            self.commit_index.push(small(index));
            self.tenant_id.push(commit.tenant.as_str());
            self.conversation_id.push(commit.conversation.as_str());
            self.sequence
                .push(first.then(|| signed(placed.position.sequence.0)));
            self.event_count.push(first.then_some(count));
            self.request_digest
                .push(first.then_some(commit.request_digest.0.as_slice()));
            self.body.push(body);
            self.add_details(event);
        }
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

    fn add_details(&mut self, event: &'b Event) {
        let details = details_of(&event.fact);
        let tokens = |count: fn(&Usage) -> u64| details.usage.map(|usage| signed(count(usage)));
        self.input_tokens.push(tokens(|usage| usage.input_tokens));
        self.output_tokens.push(tokens(|usage| usage.output_tokens));
        self.cached_tokens.push(tokens(|usage| usage.cached_tokens));
        self.occurred_at.push(event.occurred_at.map(Moment::of));
        self.kind.push(event.fact.kind().code());
        self.role.push(details.role);
        self.tool_name.push(details.tool_name);
        self.call_id.push(details.call_id);
        self.model.push(details.model);
    }
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
