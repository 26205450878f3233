//! The processor time of the projector's statement for events, in its Postgres process, by the number of table partitions. The process
//! that runs the statement reads its own time, so other programs on the machine matter little.

use std::time::Duration;

use read_model::projections::conversations::Item;
use read_model::schemas::SchemasLock;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};

use super::server;
use super::side::{Side, TEXT_BYTES, fill, side};
use crate::fixture::{Author, Projection, message};
use crate::throughput::{Row, insert, rows_of};

const PARTITIONS: [u16; 4] = [1, 8, 16, 64];
/// Conversations in each table before the measurement.
const CONVERSATIONS: i64 = 10_000;

/// The statements of a measurement.
#[derive(Debug, Clone, Copy)]
struct Load {
    rows: usize,
    events_per_conversation: usize,
    statements: usize,
}

const fn load(rows: usize, events_per_conversation: usize, statements: usize) -> Load {
    Load { rows, events_per_conversation, statements }
}

const LOADS: [Load; 4] = [load(10, 2, 300), load(500, 2, 60), load(8_000, 2, 20), load(8_000, 100, 20)];

#[tokio::test]
#[ignore = "a measurement"]
async fn inserts() {
    let (server, url) = server().await;
    let projection = Projection::at(&url).await;
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut sides = Vec::new();
    for partitions in PARTITIONS {
        let side = side(&url, &lock, partitions, 0).await;
        fill(&mut connection, &side.schema, 0..CONVERSATIONS).await;
        sides.push(side);
    }
    connection.execute("VACUUM ANALYZE").await.unwrap();
    for load in LOADS {
        println!("{load:?}:");
        measure(&mut connection, &sides, load).await;
    }
    server.stop().await;
}

/// Prints the median processor time of a statement for each side.
async fn measure(connection: &mut PgConnection, sides: &[Side], load: Load) {
    let sql = include_str!("../bare_insert.sql");
    let sql: Vec<&'static str> =
        sides.iter().map(|side| &*sql.replace("INTO bare", &format!("INTO {}.event", side.schema)).leak()).collect();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); sides.len()];
    for nth in 0..load.statements {
        let items = items(load, nth);
        let batch: Vec<Row<'_>> = items.iter().flat_map(rows_of).collect();
        for turn in 0..sides.len() {
            let side = (turn + nth) % sides.len();
            let before = processor_time(connection).await;
            insert(connection, sql[side], &batch).await;
            times[side].push(processor_time(connection).await.saturating_sub(before));
        }
    }
    let mut of_one = None;
    for (side, times) in sides.iter().zip(&mut times) {
        times.sort_unstable();
        let median = times[times.len() / 2];
        let ratio = median.as_secs_f64() / of_one.get_or_insert(median).as_secs_f64();
        println!("  {}: {median:.0?}, {ratio:.2}", side.name);
    }
}

/// One commit of each conversation.
fn items(load: Load, nth: usize) -> Vec<Item> {
    let text = "x".repeat(TEXT_BYTES);
    let each = load.events_per_conversation;
    let prefix = format!("0190c3b2-{:04}-7{each:03}-{nth:04}", load.rows);
    let item = |number: usize| {
        let mut author = Author::new(&format!("{prefix}-{number:012}"));
        author.begin(1);
        author.commit(2, vec![message(&text); each])
    };
    (0..load.rows / each).map(item).collect()
}

/// The processor time of the connection's process, from Linux.
async fn processor_time(connection: &mut PgConnection) -> Duration {
    let sql = "SELECT split_part(pg_read_file('/proc/self/schedstat'), ' ', 1)::bigint";
    let nanos: i64 = connection.fetch_one(sql).await.unwrap().get(0);
    Duration::from_nanos(u64::try_from(nanos).unwrap())
}
