//! Latency of the fast path of contexts, compared with a bare `SELECT` of the same rows: in a short and a long conversation,
//! and with two tenants alternating on one connection. Run with
//! `cargo test --release -p read-model --test read_model -- --ignored --nocapture latency`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use domain::{TenantAccess, TenantId};
use read_model::{EventQuery, head_and_events};
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, DurableServer, Projection, access, message};

const READS: usize = 4_000;
const EVENTS: u32 = 20;
const EVENTS_PER_COMMIT: u64 = 100;
const ROUNDS: usize = 3;

#[tokio::test]
#[ignore = "a measurement"]
async fn latency() {
    let server = DurableServer::start().await;
    let url = server.database().await;
    let mut projection = Projection::at(&url).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut sequence = 0;
    let mut authors = Vec::new();
    for (tenant, events) in [("acme", 20), ("acme", 10_000), ("other", 20)] {
        let mut author = Author::new(&format!("of-{events}"));
        author.key.tenant = TenantId::parse(tenant).unwrap();
        sequence += 1;
        projection.apply(vec![author.begin(sequence)]).await;
        for _ in 0..=events / EVENTS_PER_COMMIT {
            sequence += 1;
            let facts = vec![message(&"x".repeat(200)); 100];
            let count = usize::try_from(events.min(EVENTS_PER_COMMIT)).unwrap();
            let item = author.commit(sequence, facts[..count].to_vec());
            projection.apply(vec![item]).await;
        }
        authors.push(author);
    }
    connection.execute("VACUUM ANALYZE").await.unwrap();
    for _ in 0..ROUNDS {
        let turns = [&authors[..1], &authors[1..2], &[authors[0].clone(), authors[2].clone()]];
        for authors in turns {
            let bare = bare_select(&mut connection, &authors[0]).await;
            let read = read(&projection, authors).await;
            println!(
                "{} tenants, {} events: bare p50 {:?} p99 {:?}, read p50 {:?} p99 {:?}, ratio p50 {:.2}",
                authors.iter().map(|author| &author.key.tenant).collect::<HashSet<_>>().len(),
                authors[0].head().version,
                bare.0,
                bare.1,
                read.0,
                read.1,
                read.0.as_secs_f64() / bare.0.as_secs_f64()
            );
        }
    }
    server.stop().await;
}

async fn bare_select(connection: &mut PgConnection, author: &Author) -> (Duration, Duration) {
    let sql = "SELECT version, recorded_at, recorded_nanos, commit_id, body FROM conversations_v1.event
               WHERE tenant_id = $1 AND conversation_id = $2 ORDER BY version DESC LIMIT $3";
    let mut times = Vec::with_capacity(READS);
    for _ in 0..READS {
        let begun = Instant::now();
        let query = sqlx::query(sql).bind("acme").bind(author.key.conversation.as_str());
        let rows = query.bind(i64::from(EVENTS)).fetch_all(&mut *connection).await.unwrap();
        let bytes: usize = rows.iter().map(|row| row.get::<&[u8], _>(4).len()).sum();
        times.push(begun.elapsed());
        assert!(bytes > 0);
    }
    percentiles(times)
}

/// Reads the conversations in turn.
async fn read(projection: &Projection, authors: &[Author]) -> (Duration, Duration) {
    let query = EventQuery::latest(EVENTS, u64::MAX);
    let accesses: Vec<TenantAccess> = authors.iter().map(|author| access(author.key.tenant.as_str())).collect();
    let mut times = Vec::with_capacity(READS);
    for turn in 0..READS {
        let (access, id) = (&accesses[turn % authors.len()], &authors[turn % authors.len()].key.conversation);
        let begun = Instant::now();
        let found = head_and_events(&projection.model, access, id, &query).await;
        times.push(begun.elapsed());
        assert_eq!(found.unwrap().unwrap().1.len(), usize::try_from(EVENTS).unwrap());
    }
    percentiles(times)
}

fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[READS / 2], times[READS * 99 / 100])
}
