//! Freezing: at the first vacuum of a page, or at the end.

use std::ops::Range;
use std::time::Instant;

use read_model::projections::conversations::Item;
use read_model::schemas::SchemasLock;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use super::{server, setting};
use crate::fixture::{Author, Projection};
use crate::schemas::made;

const PARTS: i64 = 5;
const TURNS: usize = 2;
const EVENTS_PER_CONVERSATION: i64 = 20;
const TEXT_BYTES: usize = 150;
/// Ticks between two events of a conversation, as in `rows.sql`.
const STEP: i64 = 500;
/// Ticks of a statement that fills a table.
const FILL_TICKS: i64 = 10_000;
/// Of a vacuum as autovacuum runs it.
const USUAL: &str = "INDEX_CLEANUP auto";

#[tokio::test]
#[ignore = "a measurement"]
async fn freezing() {
    let part = setting("LARGE_TABLES_EVENTS", 2_000_000) / EVENTS_PER_CONVERSATION / PARTS;
    let (server, url) = server().await;
    let projection = Projection::at(&url).await;
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for _ in 0..TURNS {
        for min_age in [50_000_000, 0] {
            let schema = made(&lock, &[], 1).await.name().to_string();
            for statement in [
                "UPDATE hansard.schema SET phase = 'whole'".to_owned(),
                format!("SET vacuum_freeze_min_age = {min_age}"),
                format!("SET search_path = {schema}"),
            ] {
                connection.execute(AssertSqlSafe(statement)).await.unwrap();
            }
            for number in 0..PARTS {
                let new = number * part..(number + 1) * part;
                fill(&mut connection, new).await;
                let when = format!("after part {number}, freezing rows older than {min_age}");
                vacuum(&mut connection, &when, USUAL).await;
                // Autovacuum follows the rows in time, and a checkpoint follows it: a page is vacuumed before it is written.
                connection.execute("CHECKPOINT").await.unwrap();
            }
            vacuum(&mut connection, "to freeze all", "FREEZE").await;
        }
    }
    server.stop().await;
}

/// Writes the events of conversations in the order of time.
async fn fill(connection: &mut PgConnection, numbers: Range<i64>) {
    let body = encoded_event();
    let end = numbers.end + EVENTS_PER_CONVERSATION * STEP;
    let mut first = numbers.start + STEP;
    while first < end {
        let last = (first + FILL_TICKS).min(end) - 1;
        let insert = sqlx::query(include_str!("rows.sql"))
            .bind(first)
            .bind(last)
            .bind(body.as_slice())
            .bind(numbers.start)
            .bind(numbers.end);
        insert.execute(&mut *connection).await.unwrap();
        first = last + 1;
    }
}

fn encoded_event() -> Vec<u8> {
    let mut author = Author::new("c");
    author.begin(1);
    let Item::Commit(commit) = author.say(2, &"x".repeat(TEXT_BYTES)) else { panic!() };
    commit.opened.event_bytes[0].to_vec()
}

/// Vacuums the events. Prints the time and the bytes of the write-ahead log.
async fn vacuum(connection: &mut PgConnection, when: &str, options: &str) {
    let before = wal_bytes(connection).await;
    let begun = Instant::now();
    connection.execute(AssertSqlSafe(format!("VACUUM ({options}) event"))).await.unwrap();
    let took = begun.elapsed();
    let written = wal_bytes(connection).await - before;
    println!("vacuum {when}: {took:.2?}, {} MB of log", written / 1_000_000);
}

async fn wal_bytes(connection: &mut PgConnection) -> i64 {
    let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
    connection.fetch_one(sql).await.unwrap().get(0)
}
