//! Rows as the domain knows them.

use bytes::Bytes;
use domain::{
    ClientContext, CommitId, Conversation, ConversationId, Head, JsonText, Partition, Position,
    Sequence, TenantId, Timestamp, Version,
};
use prost::Message as _;
use sqlx::postgres::PgRow;
use sqlx::{Decode, Postgres, Row as _, Type};
use uuid::Uuid;
use wire::conversation::client_context_from_proto;
use wire::proto::event::v1 as proto;

use crate::error::ReadModelError;
use crate::moment::Moment;

/// An event as its row keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventRow {
    /// Its place in the conversation.
    pub version: Version,
    /// The commit that it came with.
    pub commit: CommitId,
    /// When the writer recorded it.
    pub recorded_at: Timestamp,
    /// The encoded `hansard.event.v1.Event`, verbatim: for [`wire::commit::decode_event`].
    pub bytes: Bytes,
}

/// Where a conversation stands, as its row has it: what a read of its events needs of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The head after its last commit.
    pub head: Head,
    /// The sequence of its last commit in its partition.
    pub sequence: Sequence,
}

/// Columns of every statement that reads conversations or events, in their order. One `UNION ALL` gives both at once, so
/// they share the first five: `sequence|version, created_at|recorded_at, its nanos, head|body, commit_id`; a whole
/// conversation goes on with `conversation_id, partition, title, metadata_json, client_context`. Beside events, a
/// conversation has but `sequence` and `head`. It has no `commit_id`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<'r> {
    row: &'r PgRow,
    table: &'static str,
    tenant: &'r TenantId,
    conversation: &'r str,
}

impl<'r> Columns<'r> {
    /// The columns of a row that is about `conversation`.
    pub(crate) fn of(row: &'r PgRow, tenant: &'r TenantId, conversation: &'r str) -> Self {
        let table = "event";
        Self {
            row,
            table,
            tenant,
            conversation,
        }
    }

    /// The row's event; `None` when it is the conversation's own row.
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

    /// Where the row's conversation stands.
    pub(crate) fn standing(mut self) -> Result<Standing, ReadModelError> {
        self.table = "conversation";
        Ok(Standing {
            head: self.head()?,
            sequence: Sequence(self.unsigned(0, "sequence")?),
        })
    }

    /// The row's conversation.
    pub(crate) fn conversation(mut self) -> Result<Conversation, ReadModelError> {
        self.table = "conversation";
        let id: &str = self.get(5, "conversation_id")?;
        self.conversation = id;
        Ok(Conversation {
            tenant: self.tenant.clone(),
            id: ConversationId::parse(id).map_err(|_| self.corrupt("conversation_id"))?,
            head: self.head()?,
            position: Position {
                partition: self.partition()?,
                sequence: Sequence(self.unsigned(0, "sequence")?),
            },
            created_at: self.time(1, "created_at")?,
            title: self.get(7, "title")?,
            metadata: self
                .get::<Option<String>>(8, "metadata_json")?
                .map(JsonText::recorded),
            client_context: self.client_context()?,
        })
    }

    /// The value at a place, which is cheaper to find than a name.
    pub(crate) fn get<T>(&self, index: usize, name: &str) -> Result<T, ReadModelError>
    where
        T: Decode<'r, Postgres> + Type<Postgres>,
    {
        self.row.try_get(index).map_err(|_| self.corrupt(name))
    }

    pub(crate) fn unsigned(&self, index: usize, name: &str) -> Result<u64, ReadModelError> {
        u64::try_from(self.get::<i64>(index, name)?).map_err(|_| self.corrupt(name))
    }

    /// The time at `index`, its nanoseconds in the column after it.
    pub(crate) fn time(&self, index: usize, name: &str) -> Result<Timestamp, ReadModelError> {
        let moment: Moment = self.get(index, name)?;
        Ok(moment.plus(self.get(index + 1, name)?))
    }

    pub(crate) fn corrupt(&self, field: &str) -> ReadModelError {
        ReadModelError::Corrupt {
            table: self.table,
            row: format!("{}/{}", self.tenant, self.conversation),
            field: field.to_owned(),
        }
    }

    /// The partition, in the place that all statements give it.
    pub(crate) fn partition(&self) -> Result<Partition, ReadModelError> {
        let partition: i32 = self.get(6, "partition")?;
        u16::try_from(partition)
            .map(Partition)
            .map_err(|_| self.corrupt("partition"))
    }

    fn head(&self) -> Result<Head, ReadModelError> {
        head_of(self.get(3, "head")?).map_err(|field| self.corrupt(&field))
    }

    fn client_context(&self) -> Result<ClientContext, ReadModelError> {
        let Some(bytes) = self.get::<Option<&[u8]>>(9, "client_context")? else {
            return Ok(ClientContext::default());
        };
        let context =
            proto::ClientContext::decode(bytes).map_err(|_| self.corrupt("client_context"))?;
        client_context_from_proto(Some(context))
            .map_err(|violation| self.corrupt(&violation.within("client_context").field))
    }
}

/// The head in a column; else the field that cannot be read.
pub(crate) fn head_of(bytes: &[u8]) -> Result<Head, String> {
    let head = proto::Head::decode(bytes).map_err(|_| "head".to_owned())?;
    wire::head::from_proto(head).map_err(|violation| violation.within("head").field)
}
