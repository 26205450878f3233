//! Commits to Postgres alone: what a record kept in tables would take, with the check that the record makes.
//!
//! Each commit is one durable statement, so one transaction: it advances a conversation's version if that is the one
//! expected, and inserts the commit's events beside it. The events have the columns and indexes of the real table, the
//! conversation has its key alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Context as _;
use futures::future::try_join_all;
use sqlx::postgres::PgConnection;
use sqlx::types::Uuid;
use sqlx::{Connection as _, Executor as _};
use tokio::sync::Mutex;

use crate::latency::Measure;
use crate::pace::{Closed, closed_loop};

/// Most connections that commit at once, the others wait for theirs: Postgres has a process for each.
const CONNECTIONS_MAX: usize = 64;

/// Connections to Postgres that commit, to tables of their own.
#[derive(Debug)]
pub struct Inserts {
    connections: Arc<[Mutex<PgConnection>]>,
    conversations: Arc<[Conversation]>,
    per_worker: usize,
}

/// What a commit holds.
#[derive(Debug, Clone)]
pub struct Committed {
    /// Its events.
    pub events: i64,
    /// The encoded event, the same each time.
    pub body: Vec<u8>,
}

#[derive(Debug)]
struct Conversation {
    id: String,
    version: AtomicI64,
}

impl Inserts {
    /// Connects, and makes the tables, with so many conversations for each of `workers`.
    ///
    /// # Errors
    /// Postgres cannot be reached or refuses.
    pub async fn prepare(url: &str, workers: usize, per_worker: usize) -> anyhow::Result<Self> {
        let open = || async {
            let mut connection = PgConnection::connect(url)
                .await
                .context("Postgres cannot be reached")?;
            connection.execute("SET synchronous_commit = on").await?;
            anyhow::Ok(Mutex::new(connection))
        };
        let connections = (0..workers.clamp(1, CONNECTIONS_MAX)).map(|_| open());
        let inserts = Self {
            connections: try_join_all(connections).await?.into(),
            conversations: (0..workers * per_worker).map(Conversation::new).collect(),
            per_worker,
        };
        inserts.make_tables().await?;
        Ok(inserts)
    }

    /// Commits, each worker to conversations of its own.
    ///
    /// # Errors
    /// Postgres fails, or a version is not the one expected.
    pub async fn commit(&self, closed: Closed, committed: Committed) -> anyhow::Result<Measure> {
        let per_worker = self.per_worker;
        let (connections, conversations) = (
            Arc::clone(&self.connections),
            Arc::clone(&self.conversations),
        );
        let committed = Arc::new(committed);
        closed_loop(closed, move |turn| {
            let (connections, conversations) =
                (Arc::clone(&connections), Arc::clone(&conversations));
            let committed = Arc::clone(&committed);
            async move {
                let place = turn.worker * per_worker + turn.count % per_worker;
                let conversation = conversations.get(place).context("no conversation")?;
                let connection = connections
                    .get(turn.worker % connections.len())
                    .context("no connection")?;
                commit_one(&mut *connection.lock().await, conversation, &committed).await
            }
        })
        .await
    }

    /// Removes the tables.
    ///
    /// # Errors
    /// Postgres fails.
    pub async fn remove_tables(&self) -> anyhow::Result<()> {
        let connection = self.connections.first().context("no connection")?;
        let mut connection = connection.lock().await;
        connection
            .execute("DROP SCHEMA hansard_bench CASCADE")
            .await?;
        Ok(())
    }

    async fn make_tables(&self) -> anyhow::Result<()> {
        let ids: Vec<&str> = self.conversations.iter().map(|c| c.id.as_str()).collect();
        let connection = self.connections.first().context("no connection")?;
        let mut connection = connection.lock().await;
        connection
            .execute(include_str!("make_append_tables.sql"))
            .await?;
        sqlx::query("INSERT INTO hansard_bench.conversation SELECT 0, unnest($1::text[])")
            .bind(ids)
            .execute(&mut *connection)
            .await?;
        Ok(())
    }
}

impl Conversation {
    fn new(number: usize) -> Self {
        Self {
            id: format!("bench-{number}"),
            version: AtomicI64::new(0),
        }
    }
}

async fn commit_one(
    connection: &mut PgConnection,
    conversation: &Conversation,
    committed: &Committed,
) -> anyhow::Result<()> {
    let version = conversation.version.load(Ordering::Relaxed);
    let done = sqlx::query(include_str!("append.sql"))
        .bind(&conversation.id)
        .bind(version)
        .bind(Uuid::now_v7())
        .bind(committed.events)
        .bind(&committed.body)
        .execute(connection)
        .await?;
    anyhow::ensure!(
        i64::try_from(done.rows_affected())? == committed.events,
        "a version is not the one expected"
    );
    conversation
        .version
        .store(version + committed.events, Ordering::Relaxed);
    Ok(())
}
