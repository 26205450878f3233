//! Throughput of writes, compared with a bare insert of the same rows into a table with the same columns and indexes. Run
//! with `cargo test --release -p read-model --test read_model -- --ignored --nocapture throughput`.

use std::time::{Duration, Instant};

use read_model::projections::conversations::Item;
use sqlx::{Connection as _, Executor as _, PgConnection};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::fixture::{Author, DurableServer, Projection, message, take};

const TEXT_BYTES: usize = 200;
const EVENTS: usize = 60_000;
const ROUNDS: usize = 3;

/// The load of a measurement.
#[derive(Debug, Clone, Copy)]
struct Load {
    conversations: usize,
    events_per_commit: usize,
    /// Rows per transaction and per bare insert.
    rows: usize,
    /// Concurrent transactions, each with its own conversations.
    workers: usize,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn throughput() {
    let server = DurableServer::start().await;
    let load =
        |conversations, events_per_commit, rows, workers| Load { conversations, events_per_commit, rows, workers };
    for load in [
        load(512, 100, 500, 1),
        load(512, 100, 500, 2),
        load(1_000, 5, 500, 1),
        load(1_000, 1, 500, 1),
        load(1_000, 1, 4_000, 1),
        load(1_000, 1, 2_000, 2),
        load(10_000, 1, 500, 1),
        load(10_000, 1, 2_000, 2),
    ] {
        for _ in 0..ROUNDS {
            measure(&server.database().await, load).await;
        }
    }
    server.stop().await;
}

async fn measure(url: &str, load: Load) {
    let mut first = Projection::at(url).await;
    let (begun, items) = commits(load);
    first.apply(begun).await;
    let bare = bare_insert(url, &items, load.rows).await;
    settle(url).await;
    let mut projections = vec![first];
    for partition in 1..load.workers {
        let model = projections[0].model.clone();
        let checkpoint = take(&model, u16::try_from(partition).unwrap(), "a").await.unwrap();
        projections.push(Projection { model, checkpoint });
    }
    let batches = by_worker(items, load);
    let begun = Instant::now();
    let workers = projections.into_iter().zip(batches).map(|(mut projection, batches)| {
        tokio::spawn(async move {
            for batch in batches {
                projection.apply(batch).await;
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    let applied = begun.elapsed();
    println!(
        "{load:?}: bare insert {:.0} rows/s, apply {:.0} rows/s, ratio {:.2}",
        rate(bare),
        rate(applied),
        bare.as_secs_f64() / applied.as_secs_f64()
    );
}

fn rate(time: Duration) -> f64 {
    f64::from(u32::try_from(EVENTS).unwrap()) / time.as_secs_f64()
}

/// Vacuums and writes a checkpoint, so that one measurement does not slow the next.
async fn settle(url: &str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    for statement in ["VACUUM ANALYZE", "CHECKPOINT"] {
        connection.execute(statement).await.unwrap();
    }
}

/// The first commits of the conversations, and the measured commits, of the conversations in turn.
fn commits(load: Load) -> (Vec<Item>, Vec<Item>) {
    let text = "x".repeat(TEXT_BYTES);
    let author = |n| Author::new(&format!("0190c3b2-0000-7000-8000-{n:012}"));
    let mut authors: Vec<Author> = (0..load.conversations).map(author).collect();
    let begun = authors.iter_mut().zip(1..).map(|(author, sequence)| author.begin(sequence)).collect();
    let sequences = u64::try_from(load.conversations).unwrap() + 1..;
    let commit = |(turn, sequence): (usize, u64)| {
        let facts = vec![message(&text); load.events_per_commit];
        authors[turn % load.conversations].commit(sequence, facts)
    };
    let turns = 0..EVENTS / load.events_per_commit;
    (begun, turns.zip(sequences).map(commit).collect())
}

fn by_worker(items: Vec<Item>, load: Load) -> Vec<Vec<Vec<Item>>> {
    let mut workers = vec![vec![Vec::new()]; load.workers];
    for (turn, item) in items.into_iter().enumerate() {
        let worker = &mut workers[turn % load.conversations % load.workers];
        if worker.last().is_some_and(|batch: &Vec<Item>| batch.len() * load.events_per_commit >= load.rows) {
            worker.push(Vec::new());
        }
        worker.last_mut().unwrap().push(item);
    }
    workers
}

async fn bare_insert(url: &str, items: &[Item], rows: usize) -> Duration {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let table = "SET search_path = conversations_v1; CREATE TABLE bare (LIKE event INCLUDING ALL)";
    connection.execute(table).await.unwrap();
    settle(url).await;
    let events: Vec<Row<'_>> = items.iter().flat_map(rows_of).collect();
    let begun = Instant::now();
    for batch in events.chunks(rows) {
        insert(&mut connection, include_str!("bare_insert.sql"), batch).await;
    }
    begun.elapsed()
}

/// A row without the columns that are empty in this load.
struct Row<'i> {
    version: i64,
    recorded_at: OffsetDateTime,
    sequence: Option<i64>,
    commit: Uuid,
    index: i16,
    count: Option<i16>,
    tenant: &'i str,
    conversation: &'i str,
    digest: Option<&'i [u8]>,
    body: &'i [u8],
}

fn rows_of(item: &Item) -> impl Iterator<Item = Row<'_>> {
    let Item::Commit(placed) = item else { panic!() };
    let commit = &placed.opened.commit;
    let recorded_at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(commit.recorded_at.0)).unwrap();
    placed.opened.event_bytes.iter().enumerate().map(move |(index, body)| Row {
        version: i64::try_from(commit.first_version.plus(index).0).unwrap(),
        recorded_at,
        sequence: (index == 0).then(|| i64::try_from(placed.position.sequence.0).unwrap()),
        commit: commit.id.0,
        index: i16::try_from(index).unwrap(),
        count: (index == 0).then(|| i16::try_from(commit.events.len()).unwrap()),
        tenant: commit.tenant.as_str(),
        conversation: commit.conversation.as_str(),
        digest: (index == 0).then_some(commit.request_digest.0.as_slice()),
        body,
    })
}

/// Runs `bare_insert.sql`, or the same for another table.
async fn insert(connection: &mut PgConnection, sql: &'static str, rows: &[Row<'_>]) {
    let ones = vec![1_i16; rows.len()];
    let (no_number, no_text) = (vec![None::<i64>; rows.len()], vec![None::<&str>; rows.len()]);
    sqlx::query(sql)
        .bind(rows.iter().map(|row| row.version).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.recorded_at).collect::<Vec<_>>())
        .bind(vec![None::<OffsetDateTime>; rows.len()])
        .bind(&no_number)
        .bind(&no_number)
        .bind(&no_number)
        .bind(rows.iter().map(|row| row.sequence).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.commit).collect::<Vec<_>>())
        .bind(&ones)
        .bind(rows.iter().map(|row| row.index).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.count).collect::<Vec<_>>())
        .bind(&ones)
        .bind(&ones)
        .bind(rows.iter().map(|row| row.tenant).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.conversation).collect::<Vec<_>>())
        .bind(&no_text)
        .bind(&no_text)
        .bind(&no_text)
        .bind(rows.iter().map(|row| row.digest).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.body).collect::<Vec<_>>())
        .execute(connection)
        .await
        .unwrap();
}
