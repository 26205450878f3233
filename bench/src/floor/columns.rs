//! Rows of the event table as columns, read once and inserted again.

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::types::Uuid;
use sqlx::types::time::OffsetDateTime;
use sqlx::{Decode, Postgres, Row as _, Type};

/// Each column's values, in the order of the table; all of one length.
#[derive(Debug, Default)]
pub(super) struct Columns {
    version: Vec<i64>,
    recorded_at: Vec<OffsetDateTime>,
    occurred_at: Vec<Option<OffsetDateTime>>,
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
    tenant_id: Vec<String>,
    conversation_id: Vec<String>,
    tool_name: Vec<Option<String>>,
    call_id: Vec<Option<String>>,
    model: Vec<Option<String>>,
    request_digest: Vec<Option<Vec<u8>>>,
    body: Vec<Vec<u8>>,
}

impl Columns {
    /// The latest rows, at most `limit`.
    pub(super) async fn read(connection: &mut PgConnection, limit: i64) -> anyhow::Result<Self> {
        let rows = sqlx::query(include_str!("select.sql"))
            .bind(limit)
            .fetch_all(connection)
            .await?;
        Self::of(&rows)
    }

    fn of(rows: &[PgRow]) -> anyhow::Result<Self> {
        Ok(Self {
            version: column(rows, 0)?,
            recorded_at: column(rows, 1)?,
            occurred_at: column(rows, 2)?,
            input_tokens: column(rows, 3)?,
            output_tokens: column(rows, 4)?,
            cached_tokens: column(rows, 5)?,
            sequence: column(rows, 6)?,
            commit_id: column(rows, 7)?,
            recorded_nanos: column(rows, 8)?,
            commit_index: column(rows, 9)?,
            event_count: column(rows, 10)?,
            kind: column(rows, 11)?,
            role: column(rows, 12)?,
            tenant_id: column(rows, 13)?,
            conversation_id: column(rows, 14)?,
            tool_name: column(rows, 15)?,
            call_id: column(rows, 16)?,
            model: column(rows, 17)?,
            request_digest: column(rows, 18)?,
            body: column(rows, 19)?,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.version.len()
    }

    /// The same rows, `size` at a time.
    pub(super) fn split(mut self, size: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        while self.len() > 0 {
            let rest = self.len().saturating_sub(size);
            batches.push(self.split_off(rest));
        }
        batches
    }

    fn split_off(&mut self, at: usize) -> Self {
        Self {
            version: self.version.split_off(at),
            recorded_at: self.recorded_at.split_off(at),
            occurred_at: self.occurred_at.split_off(at),
            input_tokens: self.input_tokens.split_off(at),
            output_tokens: self.output_tokens.split_off(at),
            cached_tokens: self.cached_tokens.split_off(at),
            sequence: self.sequence.split_off(at),
            commit_id: self.commit_id.split_off(at),
            recorded_nanos: self.recorded_nanos.split_off(at),
            commit_index: self.commit_index.split_off(at),
            event_count: self.event_count.split_off(at),
            kind: self.kind.split_off(at),
            role: self.role.split_off(at),
            tenant_id: self.tenant_id.split_off(at),
            conversation_id: self.conversation_id.split_off(at),
            tool_name: self.tool_name.split_off(at),
            call_id: self.call_id.split_off(at),
            model: self.model.split_off(at),
            request_digest: self.request_digest.split_off(at),
            body: self.body.split_off(at),
        }
    }

    /// One statement, one transaction.
    pub(super) async fn insert(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        sqlx::query(include_str!("insert.sql"))
            .bind(&self.version)
            .bind(&self.recorded_at)
            .bind(&self.occurred_at)
            .bind(&self.input_tokens)
            .bind(&self.output_tokens)
            .bind(&self.cached_tokens)
            .bind(&self.sequence)
            .bind(&self.commit_id)
            .bind(&self.recorded_nanos)
            .bind(&self.commit_index)
            .bind(&self.event_count)
            .bind(&self.kind)
            .bind(&self.role)
            .bind(&self.tenant_id)
            .bind(&self.conversation_id)
            .bind(&self.tool_name)
            .bind(&self.call_id)
            .bind(&self.model)
            .bind(&self.request_digest)
            .bind(&self.body)
            .execute(connection)
            .await?;
        Ok(())
    }
}

impl Columns {
    /// Moves the rows' conversations on, as their events do.
    pub(super) async fn touch(&self, connection: &mut PgConnection) -> anyhow::Result<()> {
        sqlx::query(include_str!("touch.sql"))
            .bind(&self.tenant_id)
            .bind(&self.conversation_id)
            .execute(connection)
            .await?;
        Ok(())
    }
}

fn column<'r, T>(rows: &'r [PgRow], index: usize) -> Result<Vec<T>, sqlx::Error>
where
    T: Decode<'r, Postgres> + Type<Postgres>,
{
    rows.iter().map(|row| row.try_get(index)).collect()
}
