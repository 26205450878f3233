//! Large tables: what writes, reads, erasures, vacuum and freezing cost with one table of events and with table partitions, in turns
//! on the same server. Run with `LARGE_TABLES_EVENTS=10000000 LARGE_TABLES_PARTITIONS=16 cargo test --workspace --test read_model --
//! --ignored --nocapture large_tables`. Each of the two tables needs about 450 bytes an event, in `TMPDIR`.

use std::ops::Range;
use std::time::{Duration, Instant};

use domain::{CommitId, ConversationId, Fact, Lifecycle, TenantAccess, TenantId, Version};
use prost::Message as _;
use read_model::projections::conversations::Item;
use read_model::queries::{EventRange, RangesQuery, heads_and_events_of_ranges};
use read_model::schemas::{SchemasLock, TablePartitions};
use read_model::{EventQuery, find_commit, head_and_events};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use uuid::Uuid;

use crate::fixture::{Author, DurableServer, Projection, execute, message};

const EVENTS_PER_CONVERSATION: i64 = 20;
/// Ticks between two events of a conversation, as in `large_tables_rows.sql`.
const STEP: i64 = 500;
/// Ticks of a statement that fills a table.
const FILL_TICKS: i64 = 10_000;
const TEXT_BYTES: usize = 150;
const READS: i64 = 2_000;
const ROUNDS: usize = 3;

/// One of the compared tables.
struct Side {
    name: String,
    schema: String,
    projection: Projection,
}

/// The number in a variable of the environment.
fn setting(name: &str, default: i64) -> i64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[tokio::test]
#[ignore = "a measurement"]
async fn large_tables() {
    let conversations = setting("LARGE_TABLES_EVENTS", 1_000_000) / EVENTS_PER_CONVERSATION;
    let partitions = u16::try_from(setting("LARGE_TABLES_PARTITIONS", 16)).unwrap();
    let server = DurableServer::start().await;
    let url = server.database().await;
    let projection = Projection::at(&url).await;
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let mut sides = Vec::new();
    for partitions in [1, partitions] {
        sides.push(side(&url, &lock, partitions, conversations).await);
    }
    let mut connection = PgConnection::connect(&url).await.unwrap();
    // Vacuum is measured by itself.
    for statement in [
        "ALTER SYSTEM SET autovacuum = off",
        "SELECT pg_reload_conf()",
    ] {
        connection.execute(statement).await.unwrap();
    }
    print_sizes(&mut connection, &sides, "filled").await;
    for round in 0..ROUNDS {
        read(&url, &sides, conversations).await;
        write(&mut sides, round).await;
    }
    erase_long(&mut sides).await;
    vacuum(&mut connection, &sides, "after writes", "").await;
    erase_idle(&url, &mut sides, conversations).await;
    vacuum(
        &mut connection,
        &sides,
        "after the erasure of a twentieth",
        "",
    )
    .await;
    print_sizes(&mut connection, &sides, "after the erasure").await;
    for side in &sides {
        let new = conversations..conversations + conversations / 20;
        fill(&mut connection, &side.schema, new).await;
    }
    print_sizes(&mut connection, &sides, "after as many new events").await;
    vacuum(&mut connection, &sides, "after new events", "").await;
    vacuum(
        &mut connection,
        &sides,
        "of all pages",
        "FREEZE, DISABLE_PAGE_SKIPPING",
    )
    .await;
    server.stop().await;
}

/// A filled schema with this number of table partitions.
async fn side(url: &str, lock: &SchemasLock, partitions: u16, conversations: i64) -> Side {
    let wanted = TablePartitions::new(partitions);
    let mut building = lock.begin(wanted).await.unwrap();
    let (schema, model) = (building.name().to_string(), building.model().clone());
    let mut connection = PgConnection::connect(url).await.unwrap();
    let begun = Instant::now();
    fill(&mut connection, &schema, 0..conversations).await;
    let filled = begun.elapsed();
    building.build_conversations().await.unwrap();
    building.index(|_| {}).await.unwrap();
    let indexed = begun.elapsed() - filled;
    let insert = sqlx::query(include_str!("large_tables_conversations.sql"))
        .bind(0_i64)
        .bind(conversations - 1)
        .bind(encodings().1);
    insert.execute(&mut connection).await.unwrap();
    execute(
        url,
        "UPDATE hansard.schema SET phase = 'whole'; VACUUM ANALYZE",
    )
    .await;
    let name = format!("{partitions} tables");
    println!("{name}: filled in {filled:.1?}, indexed in {indexed:.1?}");
    Side {
        name,
        schema,
        projection: Projection::of(model).await,
    }
}

/// The encoding of an event, and that of a head.
fn encodings() -> (Vec<u8>, Vec<u8>) {
    let mut author = Author::new("c");
    author.begin(1);
    let Item::Commit(commit) = author.say(2, &"x".repeat(TEXT_BYTES)) else {
        panic!()
    };
    let head = wire::head::to_proto(author.head()).encode_to_vec();
    (commit.opened.event_bytes[0].to_vec(), head)
}

/// Writes the events of conversations in the order of time.
async fn fill(connection: &mut PgConnection, schema: &str, numbers: Range<i64>) {
    let body = encodings().0;
    let path = format!("SET search_path = {schema}");
    connection.execute(AssertSqlSafe(path)).await.unwrap();
    let end = numbers.end + EVENTS_PER_CONVERSATION * STEP;
    let mut first = numbers.start + STEP;
    while first < end {
        let last = (first + FILL_TICKS).min(end) - 1;
        let insert = sqlx::query(include_str!("large_tables_rows.sql"))
            .bind(first)
            .bind(last)
            .bind(body.as_slice())
            .bind(numbers.start)
            .bind(numbers.end);
        insert.execute(&mut *connection).await.unwrap();
        first = last + 1;
    }
}

/// The tenant and the id of a conversation of `large_tables_rows.sql`.
async fn keys(url: &str, numbers: impl Iterator<Item = i64>) -> Vec<(TenantId, ConversationId)> {
    let sql =
        "SELECT 't' || number % 20, 'c' || lpad(to_hex(number), 8, '0') || '-' || md5(number::text)
               FROM unnest($1::bigint[]) AS number";
    let mut connection = PgConnection::connect(url).await.unwrap();
    let query = sqlx::query(sql).bind(numbers.collect::<Vec<_>>());
    let rows = query.fetch_all(&mut connection).await.unwrap();
    let key = |row: &PgRow| {
        (
            TenantId::parse(row.get::<&str, _>(0)).unwrap(),
            ConversationId::parse(row.get::<&str, _>(1)).unwrap(),
        )
    };
    rows.iter().map(key).collect()
}

/// The time of the work on each side, by turns.
struct Times {
    work: &'static str,
    times: Vec<Vec<Duration>>,
}

impl Times {
    fn new(work: &'static str, sides: &[Side]) -> Self {
        Self {
            work,
            times: vec![Vec::new(); sides.len()],
        }
    }

    async fn add(&mut self, side: usize, work: impl Future<Output = ()>) {
        let begun = Instant::now();
        work.await;
        self.times[side].push(begun.elapsed());
    }

    /// Prints sums and medians, with the ratios to the first side.
    fn print(mut self, sides: &[Side]) {
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

/// Reads of random conversations.
async fn read(url: &str, sides: &[Side], conversations: i64) {
    // A step that is no divisor: neighbours in time are far apart.
    let numbers = (0..READS).map(|n| n * 7_919 % conversations);
    let keys = keys(url, numbers).await;
    let query = EventQuery::latest(20, u64::MAX);
    let mut times = Times::new("newest 20 events", sides);
    for (tenant, id) in &keys {
        let access = TenantAccess::grant(tenant.clone());
        for (n, side) in sides.iter().enumerate() {
            let read = async {
                let model = &side.projection.model;
                drop(head_and_events(model, &access, id, &query).await.unwrap());
            };
            times.add(n, read).await;
        }
    }
    times.print(sides);
    let mut times = Times::new("events of 16 conversations", sides);
    for keys in keys.chunks(16) {
        let access = TenantAccess::grant(keys[0].0.clone());
        let range = |(_, id): &(TenantId, ConversationId)| EventRange {
            conversation: id.clone(),
            first: Version(1),
            last: Version(20),
        };
        let ranges: Vec<EventRange> = keys.iter().map(range).collect();
        let query = RangesQuery {
            ranges: &ranges,
            kinds: &[],
            limit: 1_000,
            bytes_max: u64::MAX,
        };
        for (n, side) in sides.iter().enumerate() {
            let read = async {
                let model = &side.projection.model;
                drop(
                    heads_and_events_of_ranges(model, &access, query)
                        .await
                        .unwrap(),
                );
            };
            times.add(n, read).await;
        }
    }
    times.print(sides);
    let mut times = Times::new("commit by id", sides);
    for (tenant, id) in &keys {
        let access = TenantAccess::grant(tenant.clone());
        for (n, side) in sides.iter().enumerate() {
            let read = async {
                let model = &side.projection.model;
                drop(
                    find_commit(model, &access, id, CommitId(Uuid::nil()))
                        .await
                        .unwrap(),
                );
            };
            times.add(n, read).await;
        }
    }
    times.print(sides);
}

/// Batches of the projector: many commits of two events, and a few.
async fn write(sides: &mut [Side], round: usize) {
    for (work, conversations, batches) in [
        ("batches of 2,000 events", 1_000, 20),
        ("batches of 10 events", 5, 400),
    ] {
        let id = |n| format!("c{:08x}-{round}-{conversations}-{n}", u32::MAX);
        let mut authors: Vec<Author> = (0..conversations).map(|n| Author::new(&id(n))).collect();
        let mut times = Times::new(work, sides);
        let mut sequence = sides[0].projection.checkpoint.sequence.0;
        for batch in 0..=batches {
            let items = authors.iter_mut().map(|author| {
                sequence += 1;
                if batch == 0 {
                    return author.begin(sequence);
                }
                author.commit(sequence, vec![message(&"x".repeat(TEXT_BYTES)); 2])
            });
            let items: Vec<Item> = items.collect();
            apply_in_turn(sides, &mut times, &items, batch % 2).await;
        }
        times.print(sides);
    }
}

/// Applies the items to each side, starting with the side `first`.
async fn apply_in_turn(sides: &mut [Side], times: &mut Times, items: &[Item], first: usize) {
    for turn in 0..sides.len() {
        let n = (turn + first) % sides.len();
        let (projection, items) = (&mut sides[n].projection, items.to_vec());
        times
            .add(n, async { drop(projection.apply(items).await) })
            .await;
    }
}

/// Erases conversations of 10,000 events.
async fn erase_long(sides: &mut [Side]) {
    let mut times = Times::new("erasure of 10,000 events", sides);
    let mut filled = Times::new("batches of 500 events of one conversation", sides);
    let mut sequence = sides[0].projection.checkpoint.sequence.0;
    for n in 0..5 {
        let mut author = Author::new(&format!("long{n}"));
        sequence += 1;
        let begun = author.begin(sequence);
        apply_in_turn(sides, &mut filled, &[begun], n % 2).await;
        for _ in 0..20 {
            sequence += 1;
            let items = [author.commit(sequence, vec![message(&"x".repeat(TEXT_BYTES)); 500])];
            apply_in_turn(sides, &mut filled, &items, n % 2).await;
        }
        sequence += 1;
        let erased = vec![Fact::Lifecycle(Lifecycle::ConversationErased)];
        apply_in_turn(sides, &mut times, &[author.commit(sequence, erased)], n % 2).await;
    }
    filled.print(sides);
    times.print(sides);
}

/// Erases the oldest tenth of every second tenant, as a retention does.
async fn erase_idle(url: &str, sides: &mut [Side], conversations: i64) {
    let mut sequence = sides[0].projection.checkpoint.sequence.0;
    let keys = keys(url, (0..conversations / 10).step_by(2)).await;
    let mut times = Times::new("erasure of 200 conversations of 20 events", sides);
    for (n, keys) in keys.chunks(200).enumerate() {
        let tombstone = |(tenant, id): &(TenantId, ConversationId)| {
            let mut author = Author::new(id.as_str());
            author.key.tenant = tenant.clone();
            author.begin(sequence);
            author.commit(sequence, vec![message("x"); 20]);
            sequence += 1;
            author.commit(
                sequence,
                vec![Fact::Lifecycle(Lifecycle::ConversationErased)],
            )
        };
        let items: Vec<Item> = keys.iter().map(tombstone).collect();
        apply_in_turn(sides, &mut times, &items, n % 2).await;
    }
    times.print(sides);
}

/// Vacuums each table: the sum, the longest, and the bytes of the write-ahead log.
async fn vacuum(connection: &mut PgConnection, sides: &[Side], when: &str, options: &str) {
    for side in sides {
        connection.execute("CHECKPOINT").await.unwrap();
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
}

async fn wal_bytes(connection: &mut PgConnection) -> i64 {
    let sql = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
    connection.fetch_one(sql).await.unwrap().get(0)
}

/// The tables that store the events of a side.
async fn tables(connection: &mut PgConnection, side: &Side) -> Vec<String> {
    let sql = "SELECT oid::regclass::text FROM pg_class
               WHERE relnamespace = $1::regnamespace AND relname LIKE 'event%' AND relkind = 'r' ORDER BY 1";
    let names = sqlx::query_scalar(sql).bind(side.schema.as_str());
    names.fetch_all(connection).await.unwrap()
}

async fn print_sizes(connection: &mut PgConnection, sides: &[Side], when: &str) {
    for side in sides {
        let sql = "SELECT sum(pg_table_size(oid))::bigint, sum(pg_indexes_size(oid))::bigint
                   FROM unnest($1::text[]::regclass[]) AS oid";
        let query = sqlx::query(sql).bind(tables(connection, side).await);
        let row = query.fetch_one(&mut *connection).await.unwrap();
        let (table, indexes): (i64, i64) = (row.get(0), row.get(1));
        println!(
            "sizes {when}, {}: rows {} MB, indexes {} MB",
            side.name,
            table / 1_000_000,
            indexes / 1_000_000
        );
    }
}
