//! The columns of conversations: those that begin, those that go on, and those that are erased. Pure, but for being bound.

mod cells;

use domain::change::Beginning;
use domain::{
    Change, ClientContext, FieldChange, Head, JsonText, Owner, Partition, Status, Timestamp,
};
use prost::Message as _;
use sqlx::postgres::PgArguments;
use uuid::Uuid;
use wire::conversation::client_context_to_proto;

use super::group::Group;
use crate::moment::{Moment, nanos_of};
use crate::queries::{bind, signed};
use crate::status_code::status_code;

pub(super) use cells::CONVERSATION_COLUMNS;

/// Whether versions that were never written may lie between a conversation's row and what is to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// They may not: a commit was lost.
    Refused,
    /// They may: an operator has dropped a commit.
    Accepted,
}

/// The columns that every write of conversations has; one list a column, all of one length.
#[derive(Debug, Default)]
struct Common<'b> {
    tenant_id: Vec<&'b str>,
    conversation_id: Vec<&'b str>,
    version: Vec<i64>,
    sequence: Vec<i64>,
    last_event_at: Vec<Moment>,
    status: Vec<i16>,
    head: Vec<Vec<u8>>,
    /// Of the commits of the batch; 0 of an erased conversation.
    stored_bytes: Vec<i64>,
}

/// What only a new row has.
#[derive(Debug, Default)]
struct Fresh {
    created_at: Vec<Moment>,
    created_nanos: Vec<i16>,
    partition: Vec<i32>,
    agent_id: Vec<String>,
}

/// What a row has until it is erased, and any commit may change.
#[derive(Debug, Default)]
struct Living {
    user: Vec<Option<String>>,
    session: Vec<Option<String>>,
    channel: Vec<Option<String>>,
    active_run: Vec<Option<Uuid>>,
}

/// Conversations whose first commit is in the batch.
#[derive(Debug, Default)]
pub(super) struct Begun<'b> {
    common: Common<'b>,
    fresh: Fresh,
    living: Living,
    title: Vec<Option<String>>,
    metadata_json: Vec<Option<String>>,
    client_context: Vec<Option<Vec<u8>>>,
    forked_from: Vec<Option<String>>,
}

/// Conversations that have a row already.
#[derive(Debug, Default)]
pub(super) struct Continued<'b> {
    common: Common<'b>,
    living: Living,
    first_version: Vec<i64>,
    changes_title: Vec<bool>,
    title: Vec<Option<String>>,
    changes_metadata: Vec<bool>,
    metadata_json: Vec<Option<String>>,
}

/// Conversations that end with a tombstone.
#[derive(Debug, Default)]
pub(super) struct Erased<'b> {
    common: Common<'b>,
    fresh: Fresh,
}

/// All that a batch does to conversations.
#[derive(Debug, Default)]
pub(super) struct ConversationRows<'b> {
    pub(super) begun: Begun<'b>,
    pub(super) continued: Continued<'b>,
    pub(super) erased: Erased<'b>,
}

impl<'b> ConversationRows<'b> {
    /// Adds what a group's commits come to.
    pub(super) fn add(&mut self, group: &Group<'b>) {
        let Some(change) = change_of(group) else {
            return;
        };
        if group.is_erased() {
            self.erased.add(group, &change);
        } else if let Some(beginning) = change.beginning.clone() {
            self.begun.add(group, change, &beginning);
        } else {
            self.continued.add(group, change);
        }
    }
}

/// The sum of a group's commits.
pub(super) fn change_of(group: &Group<'_>) -> Option<Change> {
    let (first, rest) = group.commits.split_first()?;
    let mut change = Change::of(&first.opened.commit, first.position);
    for next in rest {
        change.absorb(&next.opened.commit, next.position);
    }
    Some(change)
}

impl<'b> Common<'b> {
    fn add(&mut self, group: &Group<'b>, change: &Change) {
        self.tenant_id.push(group.tenant.as_str());
        self.conversation_id.push(group.conversation.as_str());
        self.version.push(signed(change.head.version.0));
        self.sequence.push(signed(change.position.sequence.0));
        self.last_event_at
            .push(Moment::of(change.head.last_event_at));
        self.status.push(status_code(change.head.status));
        self.head
            .push(wire::head::to_proto(&change.head).encode_to_vec());
        let is_erased = change.head.status == Status::Erased;
        self.stored_bytes.push(if is_erased {
            0
        } else {
            signed(change.stored_bytes)
        });
    }
}

impl Fresh {
    fn add(&mut self, change: &Change, partition: Partition, created_at: Timestamp) {
        self.created_at.push(Moment::of(created_at));
        self.created_nanos.push(nanos_of(created_at));
        self.partition.push(i32::from(partition.0));
        self.agent_id.push(change.head.agent.as_str().to_owned());
    }
}

impl Living {
    fn add(&mut self, head: &Head) {
        let owner = OwnerColumns::of(head);
        self.user.push(owner.user);
        self.session.push(owner.session);
        self.channel.push(owner.channel);
        self.active_run.push(head.active_run.map(|run| run.id.0));
    }

    fn bind(self, arguments: PgArguments) -> PgArguments {
        let arguments = bind(arguments, self.user);
        let arguments = bind(arguments, self.session);
        let arguments = bind(arguments, self.channel);
        bind(arguments, self.active_run)
    }
}

/// The arguments that every statement that makes rows begins with.
fn bind_fresh(common: &Common<'_>, fresh: &Fresh) -> PgArguments {
    let arguments = bind(PgArguments::default(), common.version.as_slice());
    let arguments = bind(arguments, common.sequence.as_slice());
    let arguments = bind(arguments, fresh.created_at.as_slice());
    let arguments = bind(arguments, common.last_event_at.as_slice());
    let arguments = bind(arguments, fresh.partition.as_slice());
    let arguments = bind(arguments, fresh.created_nanos.as_slice());
    let arguments = bind(arguments, common.status.as_slice());
    let arguments = bind(arguments, common.tenant_id.as_slice());
    let arguments = bind(arguments, common.conversation_id.as_slice());
    let arguments = bind(arguments, fresh.agent_id.as_slice());
    bind(arguments, common.head.as_slice())
}

impl<'b> Begun<'b> {
    fn add(&mut self, group: &Group<'b>, change: Change, beginning: &Beginning) {
        self.common.add(group, &change);
        self.fresh
            .add(&change, group.partition, beginning.created_at);
        self.living.add(&change.head);
        let parent = change.head.forked_from.as_ref();
        self.forked_from
            .push(parent.map(|point| point.conversation.as_str().to_owned()));
        self.title
            .push(change.title.and_then(FieldChange::into_value));
        self.metadata_json.push(json_text(change.metadata));
        self.client_context.push(context_bytes(beginning));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.common.version.is_empty()
    }

    /// The arguments of `begin_conversations.sql`.
    pub(super) fn bind(self) -> PgArguments {
        let arguments = bind_fresh(&self.common, &self.fresh);
        let arguments = self.living.bind(arguments);
        let arguments = bind(arguments, self.title);
        let arguments = bind(arguments, self.metadata_json);
        let arguments = bind(arguments, self.client_context);
        let arguments = bind(arguments, self.forked_from);
        bind(arguments, self.common.stored_bytes)
    }
}

impl<'b> Continued<'b> {
    fn add(&mut self, group: &Group<'b>, change: Change) {
        self.common.add(group, &change);
        self.living.add(&change.head);
        self.first_version.push(signed(change.first_version.0));
        self.changes_title.push(change.title.is_some());
        self.title
            .push(change.title.and_then(FieldChange::into_value));
        self.changes_metadata.push(change.metadata.is_some());
        self.metadata_json.push(json_text(change.metadata));
    }

    pub(super) fn len(&self) -> usize {
        self.first_version.len()
    }

    /// The arguments of `continue_conversations.sql`.
    pub(super) fn bind(self, gaps: Gaps) -> PgArguments {
        let arguments = bind(PgArguments::default(), self.common.tenant_id);
        let arguments = bind(arguments, self.common.conversation_id);
        let arguments = bind(arguments, self.first_version);
        let arguments = bind(arguments, self.common.version);
        let arguments = bind(arguments, self.common.sequence);
        let arguments = bind(arguments, self.common.last_event_at);
        let arguments = bind(arguments, self.common.status);
        let arguments = bind(arguments, self.common.head);
        let arguments = self.living.bind(arguments);
        let arguments = bind(arguments, self.changes_title);
        let arguments = bind(arguments, self.title);
        let arguments = bind(arguments, self.changes_metadata);
        let arguments = bind(arguments, self.metadata_json);
        let arguments = bind(arguments, self.common.stored_bytes);
        bind(arguments, gaps == Gaps::Accepted)
    }
}

impl<'b> Erased<'b> {
    fn add(&mut self, group: &Group<'b>, change: &Change) {
        self.common.add(group, change);
        // The first commit may have been purged: a rebuild must come to the same row without it.
        let created_at = change.head.recorded_at;
        self.fresh.add(change, group.partition, created_at);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.common.version.is_empty()
    }

    /// The arguments of `erase_events.sql` and `erase_parked.sql`.
    pub(super) fn bind_keys(&self) -> PgArguments {
        let arguments = bind(PgArguments::default(), self.common.tenant_id.as_slice());
        bind(arguments, self.common.conversation_id.as_slice())
    }

    /// The arguments of `erase_conversations.sql`.
    pub(super) fn bind(&self) -> PgArguments {
        bind_fresh(&self.common, &self.fresh)
    }
}

/// The columns of a conversation's owner: one of them is set, none once it is erased.
#[derive(Debug, Default)]
pub(super) struct OwnerColumns {
    pub(super) user: Option<String>,
    pub(super) session: Option<String>,
    pub(super) channel: Option<String>,
}

impl OwnerColumns {
    pub(super) fn of(head: &Head) -> Self {
        let mut columns = Self::default();
        match &head.owner {
            Some(Owner::User(user)) => columns.user = Some(user.as_str().to_owned()),
            Some(Owner::Session(session)) => columns.session = Some(session.as_str().to_owned()),
            Some(Owner::Channel(channel)) => columns.channel = Some(channel.as_str().to_owned()),
            None => {}
        }
        columns
    }
}

/// Where the client was, encoded, if it said so.
pub(super) fn context_bytes(beginning: &Beginning) -> Option<Vec<u8>> {
    let context = &beginning.client_context;
    let told = *context != ClientContext::default();
    told.then(|| client_context_to_proto(context).encode_to_vec())
}

pub(super) fn json_text(change: Option<FieldChange<JsonText>>) -> Option<String> {
    let json = change.and_then(FieldChange::into_value)?;
    Some(json.as_str().to_owned())
}
