//! Plain statements: the rows that the projector writes and the gateway reads, without Hansard.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, Row as _};
use tokio::time::Instant;

use super::columns::Columns;
use crate::latency::{Latencies, Measure, real};
use crate::pace::{ClosedLoop, pick};

/// Additional connections, for reading checkpoints.
const CONNECTIONS_BESIDES: usize = 2;
pub(crate) const ROWS_PER_INSERT: usize = 1_000;
/// Maximum real rows that are inserted again.
const ROWS_MAX: i64 = 50_000;

#[derive(Clone)]
pub(crate) struct Rows {
    pool: PgPool,
}

/// A conversation and the version range of its context.
#[derive(Clone)]
pub(crate) struct VersionRange {
    pub(crate) conversation: String,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKind {
    Events,
    /// Events, and in each write the row of each of their conversations: its version and its listing columns.
    EventsAndConversations,
}

impl Rows {
    /// Connects with one connection per reader.
    pub(crate) async fn connect(url: &str, readers: usize) -> anyhow::Result<Self> {
        let connections = u32::try_from(readers + CONNECTIONS_BESIDES)?;
        let pool = PgPoolOptions::new().max_connections(connections).min_connections(connections).connect(url).await;
        Ok(Self { pool: pool.context("Postgres cannot be reached")? })
    }

    /// The partition and sequence of each checkpoint.
    pub(crate) async fn checkpoints(&self) -> anyhow::Result<Vec<(u16, u64)>> {
        let sql = "SELECT partition, sequence FROM conversations_v1.checkpoint";
        let rows: Vec<(i32, i64)> = sqlx::query_as(sql).fetch_all(&self.pool).await?;
        let checkpoint = |(partition, sequence)| anyhow::Ok((u16::try_from(partition)?, u64::try_from(sequence)?));
        rows.into_iter().map(checkpoint).collect()
    }

    pub(crate) async fn tenant_of(&self, conversation: &str) -> anyhow::Result<String> {
        let sql = "SELECT tenant_id FROM conversations_v1.conversation WHERE conversation_id = $1";
        Ok(sqlx::query_scalar(sql).bind(conversation).fetch_one(&self.pool).await?)
    }

    /// The newest event of a conversation, encoded.
    pub(crate) async fn newest_event(&self, conversation: &str) -> anyhow::Result<Vec<u8>> {
        let sql = "SELECT body FROM conversations_v1.event WHERE conversation_id = $1 ORDER BY version DESC LIMIT 1";
        Ok(sqlx::query_scalar(sql).bind(conversation).fetch_one(&self.pool).await?)
    }

    /// Selects the rows of contexts, conversation by conversation.
    pub(crate) async fn select(
        &self,
        closed: ClosedLoop,
        tenant: &str,
        ranges: Arc<[VersionRange]>,
    ) -> anyhow::Result<Measure> {
        let shared = (self.pool.clone(), Arc::<str>::from(tenant), ranges);
        closed
            .measure(shared, move |(pool, tenant, ranges), call| async move {
                let index = call.worker + call.count * closed.in_flight;
                select_one(&pool, &tenant, pick(&ranges, index)?).await
            })
            .await
    }

    /// Writes real rows again for about `duration` into tables with the same columns and indexes, through one connection,
    /// [`ROWS_PER_INSERT`] events at a time. The rate counts events; the latency is that of one write.
    pub(crate) async fn write(&self, duration: Duration, written: WriteKind) -> anyhow::Result<Measure> {
        let mut connection = self.pool.acquire().await?;
        connection.execute(include_str!("make_table.sql")).await?;
        let columns = Columns::read(&mut connection, ROWS_MAX).await?;
        let batches = columns.split(ROWS_PER_INSERT);
        anyhow::ensure!(!batches.is_empty(), "Postgres has no rows to insert again");
        let (mut latencies, mut rows, mut spent) = (Latencies::new()?, 0, Duration::ZERO);
        while spent < duration {
            for batch in &batches {
                let start = Instant::now();
                written.write(batch, &mut connection).await?;
                latencies.add(start.elapsed());
                spent += start.elapsed();
                rows += batch.len();
            }
            connection.execute("TRUNCATE hansard_bench.event").await?;
        }
        connection.execute("DROP SCHEMA hansard_bench CASCADE").await?;
        Ok(Measure { per_second: real(u64::try_from(rows)?) / spent.as_secs_f64(), latency: latencies.summary() })
    }
}

impl WriteKind {
    async fn write(self, batch: &Columns, connection: &mut PgConnection) -> anyhow::Result<()> {
        match self {
            Self::Events => batch.insert(connection).await,
            Self::EventsAndConversations => {
                let mut transaction = connection.begin().await?;
                batch.insert(&mut transaction).await?;
                batch.touch(&mut transaction).await?;
                Ok(transaction.commit().await?)
            }
        }
    }
}

async fn select_one(pool: &PgPool, tenant: &str, range: &VersionRange) -> anyhow::Result<()> {
    let sql = "SELECT version, recorded_at, recorded_nanos, commit_id, body FROM conversations_v1.event \
               WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4 \
               ORDER BY version DESC";
    let rows =
        sqlx::query(sql).bind(tenant).bind(&range.conversation).bind(range.from).bind(range.to).fetch_all(pool).await?;
    for row in &rows {
        let body: &[u8] = row.try_get(4)?;
        anyhow::ensure!(!body.is_empty(), "an event without a body");
    }
    let expected = usize::try_from(range.to - range.from + 1)?;
    anyhow::ensure!(rows.len() == expected, "rows are missing");
    Ok(())
}
