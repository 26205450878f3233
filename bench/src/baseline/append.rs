//! Commits to Postgres alone: a record in tables, with the version check of the real record.
//!
//! Each commit is one durable statement, hence one transaction. It advances a conversation's version from the expected one
//! and inserts the commit's events. The events have the columns and indexes of the real table; the conversation has only its
//! key.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Context as _;
use futures::future::try_join_all;
use sqlx::postgres::PgConnection;
use sqlx::types::Uuid;
use sqlx::{Connection as _, Executor as _};
use tokio::sync::Mutex;

use crate::latency::Measure;
use crate::pace::{ClosedLoop, pick};

/// Maximum connections, which workers share: Postgres runs a process for each.
const CONNECTIONS_MAX: usize = 64;

/// Connections to Postgres, and their tables.
#[derive(Clone)]
pub(crate) struct Inserts {
    connections: Arc<[Mutex<PgConnection>]>,
    conversations: Arc<[Conversation]>,
    per_worker: usize,
}

#[derive(Clone)]
pub(crate) struct Committed {
    pub(crate) events: i64,
    /// The encoded event, equal each time.
    pub(crate) body: Vec<u8>,
}

struct Conversation {
    id: String,
    version: AtomicI64,
}

impl Inserts {
    /// Connects and creates the tables, with `per_worker` conversations for each of `workers`.
    pub(crate) async fn prepare(url: &str, workers: usize, per_worker: usize) -> anyhow::Result<Self> {
        let open = || async {
            let mut connection = PgConnection::connect(url).await.context("Postgres cannot be reached")?;
            connection.execute("SET synchronous_commit = on").await?;
            anyhow::Ok(Mutex::new(connection))
        };
        let connections = (0..workers.clamp(1, CONNECTIONS_MAX)).map(|_| open());
        let inserts = Self {
            connections: try_join_all(connections).await?.into(),
            conversations: (0..workers * per_worker).map(conversation).collect(),
            per_worker,
        };
        inserts.make_tables().await?;
        Ok(inserts)
    }

    /// Commits; each worker has its own conversations.
    pub(crate) async fn commit(&self, closed: ClosedLoop, committed: Committed) -> anyhow::Result<Measure> {
        let shared = (self.clone(), Arc::new(committed));
        closed
            .measure(shared, |(inserts, committed), call| async move {
                let index = call.worker * inserts.per_worker + call.count % inserts.per_worker;
                let conversation = pick(&inserts.conversations, index)?;
                let connection = pick(&inserts.connections, call.worker)?;
                commit_one(&mut *connection.lock().await, conversation, &committed).await
            })
            .await
    }

    pub(crate) async fn remove_tables(&self) -> anyhow::Result<()> {
        let mut connection = self.connections.first().context("no connection")?.lock().await;
        connection.execute("DROP SCHEMA hansard_bench CASCADE").await?;
        Ok(())
    }

    async fn make_tables(&self) -> anyhow::Result<()> {
        let ids: Vec<&str> = self.conversations.iter().map(|c| c.id.as_str()).collect();
        let mut connection = self.connections.first().context("no connection")?.lock().await;
        connection.execute(include_str!("make_append_tables.sql")).await?;
        sqlx::query("INSERT INTO hansard_bench.conversation SELECT 0, unnest($1::text[])")
            .bind(ids)
            .execute(&mut *connection)
            .await?;
        Ok(())
    }
}

fn conversation(number: usize) -> Conversation {
    Conversation { id: format!("bench-{number}"), version: AtomicI64::new(0) }
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
    let inserted = i64::try_from(done.rows_affected())?;
    anyhow::ensure!(inserted == committed.events, "a version is not the expected one");
    let next = version + committed.events;
    conversation.version.store(next, Ordering::Relaxed);
    Ok(())
}
