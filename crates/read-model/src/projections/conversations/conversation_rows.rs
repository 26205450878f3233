//! The rows of conversations: inserted, updated and erased ones. Pure.

use std::sync::LazyLock;

use domain::{Change, ClientContext, FieldChange, JsonText, Owner, Partition, Status, Timestamp};
use prost::Message as _;
use wire::conversation::client_context_to_proto;

use super::cell::Cell;
use super::column::SqlType::{Bigint, Boolean, Bytea, Integer, Smallint, Text, Timestamptz, Uuid};
use super::column::{Column, Columns, arrays, column, insert, names};
use super::group::Group;
use crate::pg_timestamp::nanos_of;
use crate::status_code::{DOCUMENT_STATUS, status_code};

/// Inserts new conversations: arrays of [`ProjectedConversation::ROW`].
pub(super) static INSERT_CONVERSATIONS: LazyLock<String> =
    LazyLock::new(|| insert("conversation", ProjectedConversation::ROW));

/// Inserts tombstones or replaces rows with them: arrays of [`ProjectedConversation::TOMBSTONE`].
pub(super) static ERASE_CONVERSATIONS: LazyLock<String> = LazyLock::new(|| {
    format!(include_str!("erase_conversations.sql"), insert = insert("conversation", ProjectedConversation::TOMBSTONE))
});

/// Updates rows: arrays of [`ProjectedConversation::UPDATE`], then a boolean that accepts gaps.
pub(super) static UPDATE_CONVERSATIONS: LazyLock<String> = LazyLock::new(|| {
    let columns = ProjectedConversation::UPDATE;
    let count: usize = columns.iter().map(|list| list.len()).sum();
    format!(
        include_str!("update_conversations.sql"),
        arrays = arrays(columns),
        columns = names(columns, ""),
        accepts_gaps = count + 1,
    )
});

/// Whether versions may be missing between the row of a conversation and its next commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gaps {
    /// They may not: a commit would be lost.
    Refused,
    /// They may: an operator dropped a commit.
    Accepted,
}

/// The change of a conversation by its commits, and the partition of its row.
#[derive(Debug)]
pub(super) struct ProjectedConversation {
    change: Change,
    partition: Partition,
}

/// The changes of all conversations of a batch.
#[derive(Debug, Default)]
pub(super) struct ConversationRows {
    /// Conversations whose first commit is in the batch.
    pub(super) inserted: Vec<ProjectedConversation>,
    /// Conversations that have a row.
    pub(super) updated: Vec<ProjectedConversation>,
    /// Conversations that end with a tombstone.
    pub(super) erased: Vec<ProjectedConversation>,
}

impl ConversationRows {
    /// The rows of the commits of the groups.
    pub(super) fn from_groups(groups: &[Group<'_>]) -> Self {
        let mut rows = Self::default();
        for row in groups.iter().filter_map(ProjectedConversation::from_group) {
            if row.is_erased() {
                rows.erased.push(row);
            } else if row.change.creation.is_some() {
                rows.inserted.push(row);
            } else {
                rows.updated.push(row);
            }
        }
        rows
    }
}

impl ProjectedConversation {
    /// All columns of `conversation`.
    pub(super) const ROW: &'static Columns<'static, Self> =
        &[&Self::KEY, &Self::HEAD, &Self::FIXED, &Self::MUTABLE, &Self::INITIAL];
    /// The columns of the primary key.
    pub(super) const KEYS: &'static Columns<'static, Self> = &[&Self::KEY];
    /// The columns that a tombstone sets; the others have defaults.
    pub(super) const TOMBSTONE: &'static Columns<'static, Self> = &[&Self::KEY, &Self::HEAD, &Self::FIXED];
    /// The columns that find and update a row.
    pub(super) const UPDATE: &'static Columns<'static, Self> =
        &[&Self::KEY, &Self::HEAD, &Self::MUTABLE, &Self::CHANGE];
    /// All columns of `conversation_change`.
    pub(super) const CHANGES: &'static Columns<'static, Self> =
        &[&Self::KEY, &Self::HEAD, &Self::FIXED, &Self::MUTABLE, &Self::INITIAL, &Self::CHANGE];

    #[rustfmt::skip]
    const KEY: [Column<Self>; 2] = [
        column("tenant_id", Text, |row| Cell::text(row.change.tenant.as_str())),
        column("conversation_id", Text, |row| Cell::text(row.change.conversation.as_str())),
    ];
    /// Every commit changes these.
    #[rustfmt::skip]
    const HEAD: [Column<Self>; 5] = [
        column("version", Bigint, |row| Cell::bigint(row.change.head.version.0)),
        column("sequence", Bigint, |row| Cell::bigint(row.change.position.sequence.0)),
        column("last_event_at", Timestamptz, |row| Cell::timestamp(row.change.head.last_event_at)),
        column("status", Smallint, |row| Cell::smallint(row.status_code())),
        column("head", Bytea, |row| Cell::bytes(wire::head::to_proto(&row.change.head).encode_to_vec())),
    ];
    /// The first commit and a tombstone set these.
    #[rustfmt::skip]
    const FIXED: [Column<Self>; 4] = [
        column("created_at", Timestamptz, |row| Cell::optional(row.created_at(), Cell::timestamp)),
        column("created_nanos", Smallint, |row| Cell::optional(row.created_at().map(nanos_of), Cell::smallint)),
        column("partition", Integer, |row| Cell::integer(i32::from(row.partition.0))),
        column("agent_id", Text, |row| Cell::text(row.change.head.agent.as_str())),
    ];
    /// Any commit may change these; an erasure clears them.
    #[rustfmt::skip]
    const MUTABLE: [Column<Self>; 7] = [
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
            let run = row.unerased().and_then(|change| change.head.active_run.as_ref());
            Cell::optional(run, |run| Cell::bytes(run.id.0.as_bytes().as_slice()))
        }),
        column("title", Text, |row| {
            let title = row.unerased().and_then(|change| change.title.as_ref());
            Cell::optional(title.and_then(FieldChange::value), |title| Cell::text(title))
        }),
        column("metadata_json", Text, |row| {
            let metadata = row.unerased().and_then(|change| change.metadata.as_ref());
            let json = metadata.and_then(FieldChange::value);
            Cell::optional(json.map(JsonText::as_str), Cell::text)
        }),
        column("stored_bytes", Bigint, |row| {
            Cell::bigint(row.unerased().map_or(0, |change| change.stored_bytes))
        }),
    ];
    /// Only the first commit sets these.
    #[rustfmt::skip]
    const INITIAL: [Column<Self>; 2] = [
        column("client_context", Bytea, |row| Cell::optional(row.client_context(), Cell::bytes)),
        column("forked_from", Text, |row| {
            let parent = row.unerased().and_then(|change| change.head.forked_from.as_ref());
            Cell::optional(parent, |parent| Cell::text(parent.conversation.as_str()))
        }),
    ];
    /// Only the statement of updates uses these.
    #[rustfmt::skip]
    const CHANGE: [Column<Self>; 3] = [
        column("first_version", Bigint, |row| Cell::bigint(row.change.first_version.0)),
        column("changes_title", Boolean, |row| Cell::boolean(row.change.title.is_some())),
        column("changes_metadata", Boolean, |row| Cell::boolean(row.change.metadata.is_some())),
    ];

    /// The combined commits of a group; `None`: it has none.
    pub(super) fn from_group(group: &Group<'_>) -> Option<Self> {
        let (first, rest) = group.commits.split_first()?;
        let mut change = Change::new(&first.opened.commit, first.position);
        for next in rest {
            change.absorb(&next.opened.commit, next.position);
        }
        Some(Self { change, partition: group.partition })
    }

    /// The row of a conversation whose complete history is `change`; `None`: the first commit is missing.
    pub(super) fn from_history(change: Change) -> Option<Self> {
        let partition = change.position.partition;
        let row = Self { change, partition };
        (row.is_erased() || row.change.creation.is_some()).then_some(row)
    }

    /// The code of the status. Documents have one of their own, so that no listing contains them.
    fn status_code(&self) -> i16 {
        let status = self.change.head.status;
        if self.change.conversation.is_document() && status != Status::Erased {
            return DOCUMENT_STATUS;
        }
        status_code(status)
    }

    fn is_erased(&self) -> bool {
        self.change.head.status == Status::Erased
    }

    /// The change; `None`: it is an erasure.
    fn unerased(&self) -> Option<&Change> {
        (!self.is_erased()).then_some(&self.change)
    }

    fn owner(&self) -> Option<&Owner> {
        self.unerased()?.head.owner.as_ref()
    }

    /// The first commit of an erased conversation may be purged. A rebuild without it must produce the same row.
    fn created_at(&self) -> Option<Timestamp> {
        if self.is_erased() {
            return Some(self.change.head.recorded_at);
        }
        let beginning = self.change.creation.as_ref();
        beginning.map(|beginning| beginning.created_at)
    }

    /// The encoded client context; `None`: the client sent none.
    fn client_context(&self) -> Option<Vec<u8>> {
        let context = &self.unerased()?.creation.as_ref()?.client_context;
        let is_set = *context != ClientContext::default();
        is_set.then(|| client_context_to_proto(context).encode_to_vec())
    }
}
