//! The compared tables, and what a measurement prints about them.

use std::ops::Range;
use std::time::{Duration, Instant};

use prost::Message as _;
use read_model::projections::conversations::Item;
use read_model::schemas::{SchemasLock, TablePartitions};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, Projection};

pub(super) const EVENTS_PER_CONVERSATION: i64 = 20;
pub(super) const TEXT_BYTES: usize = 150;
/// Ticks between two events of a conversation, as in `rows.sql`.
const STEP: i64 = 500;
/// Ticks of a statement that fills a table.
const FILL_TICKS: i64 = 10_000;

/// One of the compared tables.
pub(super) struct Side {
    pub(super) name: String,
    pub(super) schema: String,
    pub(super) projection: Projection,
}

/// A filled schema with this number of table partitions.
pub(super) async fn side(url: &str, lock: &SchemasLock, partitions: u16, conversations: i64) -> Side {
    let wanted = TablePartitions::new(partitions);
    let mut building = lock.begin(wanted).await.unwrap();
    let (schema, model) = (building.name().to_string(), building.model().clone());
    let mut connection = PgConnection::connect(url).await.unwrap();
    let begun = Instant::now();
    fill(&mut connection, &schema, 0..conversations).await;
    let filled = begun.elapsed();
    building.build_conversations().await.unwrap();
    building.index(|_| {}).await.unwrap();
    let indexed = begun.elapsed().saturating_sub(filled);
    let insert = sqlx::query(include_str!("conversations.sql")).bind(0_i64).bind(conversations - 1).bind(encodings().1);
    insert.execute(&mut connection).await.unwrap();
    for statement in ["UPDATE hansard.schema SET phase = 'whole'", "VACUUM ANALYZE"] {
        connection.execute(statement).await.unwrap();
    }
    let name = format!("{partitions} tables");
    println!("{name}: filled in {filled:.1?}, indexed in {indexed:.1?}");
    Side { name, schema, projection: Projection::of(model).await }
}

/// The encoding of an event, and that of a head.
pub(super) fn encodings() -> (Vec<u8>, Vec<u8>) {
    let mut author = Author::new("c");
    author.begin(1);
    let Item::Commit(commit) = author.say(2, &"x".repeat(TEXT_BYTES)) else { panic!() };
    let head = wire::head::to_proto(author.head()).encode_to_vec();
    (commit.opened.event_bytes[0].to_vec(), head)
}

/// Writes the events of conversations in the order of time.
pub(super) async fn fill(connection: &mut PgConnection, schema: &str, numbers: Range<i64>) {
    let body = encodings().0;
    let path = format!("SET search_path = {schema}");
    connection.execute(AssertSqlSafe(path)).await.unwrap();
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

/// The time of the work on each side, by turns.
pub(super) struct Times {
    work: &'static str,
    times: Vec<Vec<Duration>>,
}

impl Times {
    pub(super) fn new(work: &'static str, sides: &[Side]) -> Self {
        Self { work, times: vec![Vec::new(); sides.len()] }
    }

    pub(super) async fn add(&mut self, side: usize, work: impl Future<Output = ()>) {
        let begun = Instant::now();
        work.await;
        self.times[side].push(begun.elapsed());
    }

    /// Prints sums and medians, with the ratios to the first side.
    pub(super) fn print(mut self, sides: &[Side]) {
        let sum = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
        let mut first = None;
        for (side, times) in sides.iter().zip(&mut self.times) {
            times.sort();
            let (sum, median) = (sum(times), times[times.len() / 2].as_secs_f64());
            let (sum_of_first, median_of_first) = *first.get_or_insert((sum, median));
            println!(
                "{}, {}: sum {sum:.3} s, median {:.0} µs, ratios {:.2}, {:.2}",
                self.work,
                side.name,
                median * 1e6,
                sum / sum_of_first,
                median / median_of_first
            );
        }
    }
}

/// Vacuums each side after a checkpoint.
pub(super) async fn vacuum(connection: &mut PgConnection, sides: &[Side], when: &str, options: &str) {
    for side in sides {
        connection.execute("CHECKPOINT").await.unwrap();
        vacuum_side(connection, side, when, options).await;
    }
}

/// Vacuums each table of a side. Prints the sum, the longest, and the bytes of the write-ahead log.
pub(super) async fn vacuum_side(connection: &mut PgConnection, side: &Side, when: &str, options: &str) {
    let before = wal_bytes(connection).await;
    let mut times = Vec::new();
    for table in tables(connection, side).await {
        let sql = format!("VACUUM ({options}) {table}");
        let begun = Instant::now();
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
        times.push(begun.elapsed());
    }
    let written = wal_bytes(connection).await - before;
    println!(
        "vacuum {when}, {}: {:.2?}, longest {:.2?}, {} MB of log",
        side.name,
        times.iter().sum::<Duration>(),
        times.iter().max().unwrap(),
        written / 1_000_000
    );
}

pub(super) async fn wal_bytes(connection: &mut PgConnection) -> i64 {
    let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
    connection.fetch_one(sql).await.unwrap().get(0)
}

/// The tables that store the events of a side.
pub(super) async fn tables(connection: &mut PgConnection, side: &Side) -> Vec<String> {
    let sql = "SELECT oid::regclass::text FROM pg_class
               WHERE relnamespace = $1::regnamespace AND relname LIKE 'event%' AND relkind = 'r' ORDER BY 1";
    let names = sqlx::query_scalar(sql).bind(side.schema.as_str());
    names.fetch_all(connection).await.unwrap()
}

pub(super) async fn print_sizes(connection: &mut PgConnection, sides: &[Side], when: &str) {
    for side in sides {
        let sql = "SELECT sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint
                   FROM unnest($1::text[]::regclass[]) AS oid";
        let query = sqlx::query(sql).bind(tables(connection, side).await);
        let row = query.fetch_one(&mut *connection).await.unwrap();
        let (table, indexes): (i64, i64) = (row.get(0), row.get(1));
        println!("sizes {when}, {}: rows {} MB, indexes {} MB", side.name, table / 1_000_000, indexes / 1_000_000);
    }
}
