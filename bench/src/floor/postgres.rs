//! Bare statements: the rows that the projector writes and the gateway reads, with nothing around them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use sqlx::{Connection as _, Executor as _, Row as _};
use tokio::time::Instant;

use super::columns::Columns;
use crate::latency::{Latencies, Measure, real};
use crate::pace::{Closed, closed_loop};

/// Connections that look at checkpoints while others work.
const CONNECTIONS_BESIDES: usize = 2;
/// Rows of one insert.
pub const ROWS_PER_INSERT: usize = 1_000;
/// Most real rows that are inserted again.
const ROWS_MAX: i64 = 50_000;

/// Connections to Postgres.
#[derive(Debug, Clone)]
pub struct Rows {
    pool: PgPool,
}

/// A conversation, and the versions of a context of it.
#[derive(Debug, Clone)]
pub struct Span {
    /// The conversation.
    pub conversation: String,
    /// The first version.
    pub from: i64,
    /// The last version.
    pub to: i64,
}

/// Which rows a floor writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Those of events alone.
    Events,
    /// Those of events, and the row of each of their conversations once for each write: its version, its place in the
    /// listings.
    EventsAndConversations,
}

impl Rows {
    /// Connects, with as many connections as reads are made at once.
    ///
    /// # Errors
    /// Postgres cannot be reached.
    pub async fn connect(url: &str, readers: usize) -> anyhow::Result<Self> {
        let connections = u32::try_from(readers + CONNECTIONS_BESIDES)?;
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .min_connections(connections);
        Ok(Self {
            pool: pool
                .connect(url)
                .await
                .context("Postgres cannot be reached")?,
        })
    }

    /// How far each partition is projected.
    ///
    /// # Errors
    /// Postgres does not answer, or has no read model.
    pub async fn checkpoints(&self) -> anyhow::Result<Vec<(u16, u64)>> {
        let sql = "SELECT partition, sequence FROM conversations_v1.checkpoint";
        let rows = sqlx::query(sql).fetch_all(&self.pool).await?;
        let checkpoint = |row: &sqlx::postgres::PgRow| {
            let (partition, sequence): (i32, i64) = (row.try_get(0)?, row.try_get(1)?);
            anyhow::Ok((u16::try_from(partition)?, u64::try_from(sequence)?))
        };
        rows.iter().map(checkpoint).collect()
    }

    /// The tenant of a conversation.
    ///
    /// # Errors
    /// It has no row.
    pub async fn tenant_of(&self, conversation: &str) -> anyhow::Result<String> {
        let sql = "SELECT tenant_id FROM conversations_v1.conversation WHERE conversation_id = $1";
        let row = sqlx::query(sql)
            .bind(conversation)
            .fetch_one(&self.pool)
            .await?;
        Ok(row.try_get(0)?)
    }

    /// The newest event of a conversation, encoded.
    ///
    /// # Errors
    /// It has none.
    pub async fn newest_event(&self, conversation: &str) -> anyhow::Result<Vec<u8>> {
        let sql = "SELECT body FROM conversations_v1.event WHERE conversation_id = $1 ORDER BY version DESC LIMIT 1";
        let row = sqlx::query(sql)
            .bind(conversation)
            .fetch_one(&self.pool)
            .await?;
        Ok(row.try_get(0)?)
    }

    /// Selects the rows of contexts, one after the other by turns.
    ///
    /// # Errors
    /// Postgres fails, or a span is not all there.
    pub async fn select(
        &self,
        closed: Closed,
        tenant: &str,
        spans: Arc<[Span]>,
    ) -> anyhow::Result<Measure> {
        let tenant: Arc<str> = Arc::from(tenant);
        let pool = self.pool.clone();
        closed_loop(closed, move |turn| {
            let (pool, tenant, spans) = (pool.clone(), Arc::clone(&tenant), Arc::clone(&spans));
            async move {
                let place = turn.worker + turn.count * closed.in_flight;
                let span = spans.get(place % spans.len()).context("no conversation")?;
                select_one(&pool, &tenant, span).await
            }
        })
        .await
    }

    /// Writes real rows again, for about `duration`, into tables of the same columns and indexes, in one connection,
    /// [`ROWS_PER_INSERT`] events at a time. Counts events; the latency is that of one write.
    ///
    /// # Errors
    /// Postgres fails, or there are no rows yet.
    pub async fn write(&self, duration: Duration, written: Written) -> anyhow::Result<Measure> {
        let mut connection = self.pool.acquire().await?;
        connection.execute(include_str!("make_table.sql")).await?;
        let batches = Columns::read(&mut connection, ROWS_MAX)
            .await?
            .split(ROWS_PER_INSERT);
        anyhow::ensure!(!batches.is_empty(), "there are no rows to insert again");
        let (mut latencies, mut rows, mut spent) = (Latencies::new()?, 0, Duration::ZERO);
        while spent < duration {
            for batch in &batches {
                let begun = Instant::now();
                written.write(batch, &mut connection).await?;
                latencies.add(begun.elapsed());
                spent += begun.elapsed();
                rows += batch.len();
            }
            connection.execute("TRUNCATE hansard_bench.event").await?;
        }
        connection
            .execute("DROP SCHEMA hansard_bench CASCADE")
            .await?;
        let per_second = real(u64::try_from(rows)?) / spent.as_secs_f64();
        Ok(Measure {
            per_second,
            latency: latencies.summary(),
        })
    }
}

impl Written {
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

async fn select_one(pool: &PgPool, tenant: &str, span: &Span) -> anyhow::Result<()> {
    let sql = "SELECT version, recorded_at, recorded_nanos, commit_id, body FROM conversations_v1.event \
               WHERE tenant_id = $1 AND conversation_id = $2 AND version BETWEEN $3 AND $4 \
               ORDER BY version DESC";
    let rows = sqlx::query(sql)
        .bind(tenant)
        .bind(&span.conversation)
        .bind(span.from)
        .bind(span.to)
        .fetch_all(pool)
        .await?;
    for row in &rows {
        let body: &[u8] = row.try_get(4)?;
        anyhow::ensure!(!body.is_empty(), "an event without a body");
    }
    anyhow::ensure!(
        rows.len() == usize::try_from(span.to - span.from + 1)?,
        "rows are missing"
    );
    Ok(())
}
