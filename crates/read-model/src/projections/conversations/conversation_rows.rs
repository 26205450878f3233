//! The rows of conversations: new ones, those that continue, and tombstones. Pure.

use std::sync::LazyLock;

use domain::{Change, ClientContext, FieldChange, JsonText, Owner, Partition, Status, Timestamp};
use prost::Message as _;
use wire::conversation::client_context_to_proto;

use super::cell::Cell;
use super::column::SqlType::{Bigint, Boolean, Bytea, Integer, Smallint, Text, Timestamptz, Uuid};
use super::column::{Column, Columns, arrays, column, insert, names};
use super::group::Group;
use crate::moment::{Moment, nanos_of};
use crate::queries::signed;
use crate::status_code::status_code;

/// Inserts new conversations: arrays of [`ProjectedConversation::ROW`].
pub(super) static BEGIN_CONVERSATIONS: LazyLock<String> =
    LazyLock::new(|| insert("conversation", ProjectedConversation::ROW));

/// Inserts tombstones, or replaces rows by them: arrays of [`ProjectedConversation::TOMBSTONE`].
pub(super) static ERASE_CONVERSATIONS: LazyLock<String> = LazyLock::new(|| {
    format!(
        include_str!("erase_conversations.sql"),
        insert = insert("conversation", ProjectedConversation::TOMBSTONE)
    )
});

/// Updates rows: arrays of [`ProjectedConversation::UPDATE`], then whether gaps are accepted.
pub(super) static CONTINUE_CONVERSATIONS: LazyLock<String> = LazyLock::new(|| {
    let columns = ProjectedConversation::UPDATE;
    let count: usize = columns.iter().map(|list| list.len()).sum();
    format!(
        include_str!("continue_conversations.sql"),
        arrays = arrays(columns),
        columns = names(columns, ""),
        accepts_gaps = count + 1,
    )
});

/// Whether versions that were never written may lie between a conversation's row and what is to follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// They may not: a commit was lost.
    Refused,
    /// They may: an operator has dropped a commit.
    Accepted,
}

/// What commits make of a conversation, and the partition of its row.
#[derive(Debug)]
pub(super) struct ProjectedConversation {
    change: Change,
    partition: Partition,
}

/// All that a batch does to conversations.
#[derive(Debug, Default)]
pub(super) struct ConversationRows {
    /// Those whose first commit is in the batch.
    pub(super) begun: Vec<ProjectedConversation>,
    /// Those that have a row already.
    pub(super) continued: Vec<ProjectedConversation>,
    /// Those that end with a tombstone.
    pub(super) erased: Vec<ProjectedConversation>,
}

impl ConversationRows {
    /// The rows that the groups' commits lead to.
    pub(super) fn of(groups: &[Group<'_>]) -> Self {
        let mut rows = Self::default();
        for row in groups.iter().filter_map(ProjectedConversation::of_group) {
            if row.is_erased() {
                rows.erased.push(row);
            } else if row.change.beginning.is_some() {
                rows.begun.push(row);
            } else {
                rows.continued.push(row);
            }
        }
        rows
    }
}

impl ProjectedConversation {
    /// All columns of `conversation`.
    pub(super) const ROW: &'static Columns<'static, Self> = &[
        &Self::KEY,
        &Self::HEAD,
        &Self::FIXED,
        &Self::LIVING,
        &Self::BEGINNING,
    ];
    /// The columns of the primary key.
    pub(super) const KEYS: &'static Columns<'static, Self> = &[&Self::KEY];
    /// The columns that a tombstone sets; the others get their defaults.
    pub(super) const TOMBSTONE: &'static Columns<'static, Self> =
        &[&Self::KEY, &Self::HEAD, &Self::FIXED];
    /// The columns that find and update a row.
    pub(super) const UPDATE: &'static Columns<'static, Self> =
        &[&Self::KEY, &Self::HEAD, &Self::LIVING, &Self::CHANGE];
    /// All columns of `conversation_change`.
    pub(super) const CHANGES: &'static Columns<'static, Self> = &[
        &Self::KEY,
        &Self::HEAD,
        &Self::FIXED,
        &Self::LIVING,
        &Self::BEGINNING,
        &Self::CHANGE,
    ];

    const KEY: [Column<Self>; 2] = [
        column("tenant_id", Text, |row| {
            Cell::text(row.change.tenant.as_str())
        }),
        column("conversation_id", Text, |row| {
            Cell::text(row.change.conversation.as_str())
        }),
    ];
    /// What every commit changes.
    const HEAD: [Column<Self>; 5] = [
        column("version", Bigint, |row| {
            Cell::number(signed(row.change.head.version.0))
        }),
        column("sequence", Bigint, |row| {
            Cell::number(signed(row.change.position.sequence.0))
        }),
        column("last_event_at", Timestamptz, |row| {
            Cell::moment(Moment::of(row.change.head.last_event_at))
        }),
        column("status", Smallint, |row| {
            Cell::small(status_code(row.change.head.status))
        }),
        column("head", Bytea, |row| {
            Cell::bytes(wire::head::to_proto(&row.change.head).encode_to_vec())
        }),
    ];
    /// What the first commit sets, and a tombstone again.
    const FIXED: [Column<Self>; 4] = [
        column("created_at", Timestamptz, |row| {
            Cell::maybe(row.created_at().map(Moment::of), Cell::moment)
        }),
        column("created_nanos", Smallint, |row| {
            Cell::maybe(row.created_at().map(nanos_of), Cell::small)
        }),
        column("partition", Integer, |row| {
            Cell::middle(i32::from(row.partition.0))
        }),
        column("agent_id", Text, |row| {
            Cell::text(row.change.head.agent.as_str())
        }),
    ];
    /// What any commit may change, and an erasure clears.
    const LIVING: [Column<Self>; 7] = [
        column("user_id", Text, |row| match row.owner() {
            Some(Owner::User(user)) => Cell::text(user.as_str()),
            Some(Owner::Session(_) | Owner::Channel(_)) | None => Cell::Null,
        }),
        column("session_id", Text, |row| match row.owner() {
            Some(Owner::Session(session)) => Cell::text(session.as_str()),
            Some(Owner::User(_) | Owner::Channel(_)) | None => Cell::Null,
        }),
        column("channel_id", Text, |row| match row.owner() {
            Some(Owner::Channel(channel)) => Cell::text(channel.as_str()),
            Some(Owner::User(_) | Owner::Session(_)) | None => Cell::Null,
        }),
        column("active_run_id", Uuid, |row| {
            let run = row
                .living()
                .and_then(|change| change.head.active_run.as_ref());
            Cell::maybe(run, |run| Cell::bytes(run.id.0.as_bytes().as_slice()))
        }),
        column("title", Text, |row| {
            let title = row.living().and_then(|change| change.title.as_ref());
            Cell::maybe(title.and_then(FieldChange::value), |title| {
                Cell::text(title)
            })
        }),
        column("metadata_json", Text, |row| {
            let metadata = row.living().and_then(|change| change.metadata.as_ref());
            let json = metadata.and_then(FieldChange::value);
            Cell::maybe(json.map(JsonText::as_str), Cell::text)
        }),
        column("stored_bytes", Bigint, |row| {
            let stored_bytes = row.living().map_or(0, |change| change.stored_bytes);
            Cell::number(signed(stored_bytes))
        }),
    ];
    /// What the first commit alone sets.
    const BEGINNING: [Column<Self>; 2] = [
        column("client_context", Bytea, |row| {
            Cell::maybe(row.client_context(), Cell::bytes)
        }),
        column("forked_from", Text, |row| {
            let parent = row
                .living()
                .and_then(|change| change.head.forked_from.as_ref());
            Cell::maybe(parent, |parent| Cell::text(parent.conversation.as_str()))
        }),
    ];
    /// What commits change, beside the values.
    const CHANGE: [Column<Self>; 3] = [
        column("first_version", Bigint, |row| {
            Cell::number(signed(row.change.first_version.0))
        }),
        column("changes_title", Boolean, |row| {
            Cell::boolean(row.change.title.is_some())
        }),
        column("changes_metadata", Boolean, |row| {
            Cell::boolean(row.change.metadata.is_some())
        }),
    ];

    /// The sum of a group's commits; `None`: there are none.
    pub(super) fn of_group(group: &Group<'_>) -> Option<Self> {
        let (first, rest) = group.commits.split_first()?;
        let mut change = Change::of(&first.opened.commit, first.position);
        for next in rest {
            change.absorb(&next.opened.commit, next.position);
        }
        Some(Self {
            change,
            partition: group.partition,
        })
    }

    /// The row of a conversation whose whole history is `change`; `None`: the history does not begin.
    pub(super) fn of_history(change: Change) -> Option<Self> {
        let partition = change.position.partition;
        let row = Self { change, partition };
        (row.is_erased() || row.change.beginning.is_some()).then_some(row)
    }

    fn is_erased(&self) -> bool {
        self.change.head.status == Status::Erased
    }

    /// The change, unless it is an erasure.
    fn living(&self) -> Option<&Change> {
        (!self.is_erased()).then_some(&self.change)
    }

    fn owner(&self) -> Option<&Owner> {
        self.living()?.head.owner.as_ref()
    }

    /// Of an erased conversation the first commit may be purged: a rebuild without it must lead to the same row.
    fn created_at(&self) -> Option<Timestamp> {
        if self.is_erased() {
            return Some(self.change.head.recorded_at);
        }
        let beginning = self.change.beginning.as_ref();
        beginning.map(|beginning| beginning.created_at)
    }

    /// The client's context, encoded; `None`: the client sent none.
    fn client_context(&self) -> Option<Vec<u8>> {
        let context = &self.living()?.beginning.as_ref()?.client_context;
        let is_set = *context != ClientContext::default();
        is_set.then(|| client_context_to_proto(context).encode_to_vec())
    }
}
