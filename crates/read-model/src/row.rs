//! Decodes rows into types of the domain.

use bytes::Bytes;
use domain::{
    ClientContext, CommitId, Conversation, ConversationId, Head, JsonText, Partition, Position, RecordedEvent,
    Sequence, TenantId, Timestamp, Version,
};
use prost::Message as _;
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _, Type};
use uuid::Uuid;
use wire::conversation::client_context_from_proto;
use wire::proto::event::v1 as proto;

use crate::error::ReadModelError;
use crate::pg_timestamp::PgTimestamp;

/// An event in its row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its version.
    pub version: Version,
    /// The commit that contains it.
    pub commit: CommitId,
    /// When the writer recorded it.
    pub recorded_at: Timestamp,
    /// The encoded `hansard.event.v1.Event`, verbatim: for [`wire::commit::decode_event`].
    pub bytes: Bytes,
}

/// The head of a conversation in its row, and its position: all that a read of its events needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadRow {
    /// The head after its last commit.
    pub head: Head,
    /// The sequence of its last commit in its partition.
    pub sequence: Sequence,
}

/// The columns of every statement that reads conversations or events, in this order. A `UNION ALL` returns both, so they
/// share the first five: `sequence|version, created_at|recorded_at, its nanos, head|body, commit_id`. Statements that read
/// whole conversations add `conversation_id, partition, title, metadata_json, client_context`. In a `UNION ALL` with
/// events, a conversation has only `sequence` and `head`. `commit_id` is null for conversations.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    table: &'static str,
    tenant: &'r TenantId,
    conversation: &'r str,
}

impl<'r> Columns<'r> {
    /// The columns of a row of `conversation` or its events.
    pub(crate) fn new(row: &'r PgRow, tenant: &'r TenantId, conversation: &'r str) -> Self {
        Self { row, table: "event", tenant, conversation }
    }

    /// The event; `None`: it is a row of a conversation.
    pub(crate) fn event(&self) -> Result<Option<EventRow>, ReadModelError> {
        let Some(commit) = self.get::<Option<Uuid>>(4, "commit_id")? else {
            return Ok(None);
        };
        Ok(Some(EventRow {
            version: Version(self.unsigned(0, "version")?),
            commit: CommitId(commit),
            recorded_at: self.time(1, "recorded_at")?,
            bytes: Bytes::copy_from_slice(self.get(3, "body")?),
        }))
    }

    /// The event, decoded; `None`: it is a row of a conversation.
    pub(crate) fn recorded_event(&self) -> Result<Option<RecordedEvent>, ReadModelError> {
        let Some(row) = self.event()? else {
            return Ok(None);
        };
        let event = wire::commit::decode_event(row.bytes).map_err(|_| self.corrupt("body"))?;
        Ok(Some(RecordedEvent { version: row.version, commit: row.commit, recorded_at: row.recorded_at, event }))
    }

    /// The head and the sequence of the conversation.
    pub(crate) fn head_row(mut self) -> Result<HeadRow, ReadModelError> {
        self.table = "conversation";
        Ok(HeadRow { head: self.head()?, sequence: Sequence(self.unsigned(0, "sequence")?) })
    }

    pub(crate) fn conversation(mut self) -> Result<Conversation, ReadModelError> {
        self.table = "conversation";
        let id: &str = self.get(5, "conversation_id")?;
        self.conversation = id;
        Ok(Conversation {
            tenant: self.tenant.clone(),
            id: ConversationId::parse(id).map_err(|_| self.corrupt("conversation_id"))?,
            head: self.head()?,
            position: Position { partition: self.partition()?, sequence: Sequence(self.unsigned(0, "sequence")?) },
            created_at: self.time(1, "created_at")?,
            title: self.get(7, "title")?,
            metadata: self.get::<Option<String>>(8, "metadata_json")?.map(JsonText::recorded),
            client_context: self.client_context()?,
        })
    }

    /// The value at an index, which is faster than by name.
    pub(crate) fn get<T>(&self, index: usize, name: &str) -> Result<T, ReadModelError>
    where
        T: Decode<'r, Postgres> + Type<Postgres>,
    {
        self.row.try_get(index).map_err(|_| self.corrupt(name))
    }

    pub(crate) fn unsigned(&self, index: usize, name: &str) -> Result<u64, ReadModelError> {
        u64::try_from(self.get::<i64>(index, name)?).map_err(|_| self.corrupt(name))
    }

    /// The time at `index`, with the nanoseconds of the next column.
    pub(crate) fn time(&self, index: usize, name: &str) -> Result<Timestamp, ReadModelError> {
        let time: PgTimestamp = self.get(index, name)?;
        Ok(time.with_nanos(self.get(index + 1, name)?))
    }

    pub(crate) fn corrupt(&self, field: &str) -> ReadModelError {
        ReadModelError::corrupt(self.table, format!("{}/{}", self.tenant, self.conversation), field)
    }

    /// The partition, whose index is the same in all statements.
    pub(crate) fn partition(&self) -> Result<Partition, ReadModelError> {
        let partition: i32 = self.get(6, "partition")?;
        u16::try_from(partition).map(Partition).map_err(|_| self.corrupt("partition"))
    }

    fn head(&self) -> Result<Head, ReadModelError> {
        head_of(self.get(3, "head")?).map_err(|field| self.corrupt(&field))
    }

    fn client_context(&self) -> Result<ClientContext, ReadModelError> {
        let Some(bytes) = self.get::<Option<&[u8]>>(9, "client_context")? else {
            return Ok(ClientContext::default());
        };
        let context = proto::ClientContext::decode(bytes).map_err(|_| self.corrupt("client_context"))?;
        client_context_from_proto(Some(context))
            .map_err(|violation| self.corrupt(&violation.within("client_context").field.to_string()))
    }
}

/// Decodes a head; the error is the field that cannot be decoded.
pub(crate) fn head_of(bytes: &[u8]) -> Result<Head, String> {
    let head = proto::Head::decode(bytes).map_err(|_| "head".to_owned())?;
    wire::head::from_proto(head).map_err(|violation| violation.within("head").field.to_string())
}
