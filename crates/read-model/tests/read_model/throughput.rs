//! How fast a batch is written, beside a bare insert of the same rows. Run with
//! `cargo test --release -p read-model -- --ignored --nocapture throughput`.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use devstack::{PostgresConfig, PostgresServer, quiet};
use read_model::projections::conversations::Item;
use sqlx::{Connection as _, Executor as _, PgConnection};
use uuid::Uuid;

use crate::fixture::{Author, Projection, access, message};

const EVENTS_PER_BATCH: usize = 500;
const TEXT_BYTES: usize = 200;
const BATCHES: usize = 120;
const ROUNDS: usize = 3;

/// A load: how many conversations take turns, and how many events a commit has.
#[derive(Debug, Clone, Copy)]
struct Load {
    conversations: usize,
    events_per_commit: usize,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn throughput() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = PostgresConfig::new(folder.path().join("postgres"));
    let server = PostgresServer::start(config, &quiet).await.unwrap();
    for load in [
        Load { conversations: 1_000, events_per_commit: 1 },
        Load { conversations: 10_000, events_per_commit: 1 },
        Load { conversations: 1_000, events_per_commit: 2 },
    ] {
      for lanes in [1, 2, 3] { for size in [500, 2000, 4000] {
            let name = format!("t{}_{}_{lanes}_{size}", load.conversations, load.events_per_commit);
            server.create_database(&name).await.unwrap();
            measure(&server.database_url(&name), load, lanes, size).await;
      }}
    }
    server.stop().await;
}

async fn measure(url: &str, load: Load, lanes: usize, size: usize) {
    let mut projection = Projection::at(url).await;
    let (begun, batches) = batches(load);
    for part in begun {
        projection.apply(part).await;
    }
    let rows = BATCHES * EVENTS_PER_BATCH;
    let bare = bare(url, &batches).await;
    let mut connection = PgConnection::connect(url).await.unwrap();
    for quiet in ["VACUUM ANALYZE", "CHECKPOINT"] {
        connection.execute(quiet).await.unwrap();
    }
    let mut byl: Vec<Vec<Vec<Item>>> = vec![];
    for _ in 0..lanes { byl.push(vec![vec![]]); }
    for item in batches.into_iter().flatten() {
        let lane = { let Item::Commit(c) = &item else { panic!() }; let s = c.opened.commit.conversation.as_str(); let n = u32::from_str_radix(&s[s.len()-6..], 16).unwrap() as usize; n % lanes };
        let l = &mut byl[lane];
        if l.last().unwrap().len() * load.events_per_commit >= size { l.push(vec![]); }
        l.last_mut().unwrap().push(item);
    }
    let mut ps = vec![projection];
    for p in 1..lanes { let cp = crate::fixture::take(&ps[0].model, p as u16, "a").await.unwrap(); ps.push(Projection { model: ps[0].model.clone(), checkpoint: cp }); }
    let started = Instant::now();
    let tasks: Vec<_> = ps.into_iter().zip(byl).map(|(mut p, l)| tokio::spawn(async move { for items in l { p.apply(items).await; } })).collect();
    for t in tasks { t.await.unwrap(); }
    let applied = started.elapsed();
    println!(
        "{load:?} lanes {lanes} size {size}: bare {:.0} rows/s, apply {:.0} rows/s, ratio {:.2}",
        rate(rows, bare),
        rate(rows, applied),
        bare.as_secs_f64() / applied.as_secs_f64()
    );
    assert!(access("acme").tenant().as_str() == "acme");
}

fn rate(rows: usize, time: Duration) -> f64 {
    f64::from(u32::try_from(rows).unwrap()) / time.as_secs_f64()
}

/// The batches that begin the conversations, and those that are measured.
fn batches(load: Load) -> (Vec<Vec<Item>>, Vec<Vec<Item>>) {
    let text = "x".repeat(TEXT_BYTES);
    let mut authors: Vec<Author> =
        (0..load.conversations).map(|n| Author::new(&Uuid::from_u128(0x0190_c3b2_0000_7000_8000_0000_0000_0000 + n as u128).to_string())).collect();
    let mut sequence = 0;
    let mut begun = Vec::new();
    for chunk in authors.chunks_mut(EVENTS_PER_BATCH) {
        begun.push(chunk.iter_mut().map(|author| { sequence += 1; author.begin(sequence) }).collect());
    }
    let mut turn = 0;
    let commits = EVENTS_PER_BATCH / load.events_per_commit;
    let batch = |_| {
        (0..commits)
            .map(|_| {
                turn += 1;
                sequence += 1;
                let facts = vec![message(&text); load.events_per_commit];
                authors[turn % load.conversations].commit(sequence, facts)
            })
            .collect()
    };
    (begun, (0..BATCHES).map(batch).collect())
}

/// A table with the same columns and a primary key, one statement a batch.
async fn bare(url: &str, batches: &[Vec<Item>]) -> Duration {
    let mut connection = PgConnection::connect(url).await.unwrap();
    connection
        .execute("SET search_path = conversations_v1; CREATE TABLE bare (LIKE event INCLUDING DEFAULTS, PRIMARY KEY (tenant_id, conversation_id, version))")
        .await
        .unwrap();
    let started = Instant::now();
    for items in batches {
        insert(&mut connection, items).await;
    }
    started.elapsed()
}

async fn insert(connection: &mut PgConnection, items: &[Item]) {
    let mut columns = Columns::default();
    for item in items {
        let Item::Commit(placed) = item else { continue };
        let commit = &placed.opened.commit;
        for (index, body) in placed.opened.event_bytes.iter().enumerate() {
            let at = time::OffsetDateTime::from_unix_timestamp_nanos(i128::from(commit.recorded_at.0)).unwrap();
            columns.version.push(i64::try_from(commit.first_version.0).unwrap() + index as i64);
            columns.at.push(at);
            columns.commit.push(commit.id.0);
            columns.number.push(1);
            columns.tenant.push(commit.tenant.as_str());
            columns.conversation.push(commit.conversation.as_str());
            columns.body.push(body);
        }
    }
    let count = columns.version.len();
    let nothing: Vec<Option<i64>> = vec![None; count];
    let no_text: Vec<Option<&str>> = vec![None; count];
    let no_bytes: Vec<Option<&[u8]>> = vec![None; count];
    sqlx::query(include_str!("bare_insert.sql"))
        .bind(&columns.version)
        .bind(&columns.at)
        .bind(&columns.at)
        .bind(&nothing)
        .bind(&nothing)
        .bind(&nothing)
        .bind(&columns.version)
        .bind(&columns.commit)
        .bind(&columns.number)
        .bind(&columns.number)
        .bind(&columns.number)
        .bind(&columns.number)
        .bind(&columns.number)
        .bind(&columns.tenant)
        .bind(&columns.conversation)
        .bind(&no_text)
        .bind(&no_text)
        .bind(&no_text)
        .bind(&no_bytes)
        .bind(&columns.body)
        .execute(connection)
        .await
        .unwrap();
}

#[derive(Default)]
struct Columns<'b> {
    version: Vec<i64>,
    at: Vec<time::OffsetDateTime>,
    commit: Vec<Uuid>,
    number: Vec<i16>,
    tenant: Vec<&'b str>,
    conversation: Vec<&'b str>,
    body: Vec<&'b [u8]>,
}
