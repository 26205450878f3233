//! Measurements of large tables, each with `cargo test --workspace --test read_model -- --ignored --nocapture large_tables::NAME`:
//!
//! - `partitions`: what reads, writes, erasures and vacuum cost with one table of events and with table partitions.
//!   `LARGE_TABLES_EVENTS` is the number of events of each, about 510 bytes in `TMPDIR`, `LARGE_TABLES_PARTITIONS` that of partitions.
//! - `inserts`: the processor time of the projector's statement for events, by table partitions.
//! - `freezing`: the first vacuum of pages, with and without freezing, and the last one.
//! - `listing_indexes`: how large the indexes of conversations become, and how large they are when they are built again.

mod freezing;
mod inserts;
mod listing_indexes;
mod side;
mod work;

use read_model::schemas::SchemasLock;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::{DurableServer, Projection};
use side::{EVENTS_PER_CONVERSATION, fill, print_sizes, side, vacuum};

const ROUNDS: usize = 3;
/// Of a vacuum as autovacuum runs it.
const USUAL: &str = "INDEX_CLEANUP auto";

/// The number in a variable of the environment.
fn setting(name: &str, default: i64) -> i64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// A server on which vacuum only runs when it is measured.
async fn server() -> (DurableServer, String) {
    let server = DurableServer::start().await;
    let url = server.database().await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for statement in ["ALTER SYSTEM SET autovacuum = off", "SELECT pg_reload_conf()"] {
        connection.execute(statement).await.unwrap();
    }
    (server, url)
}

#[tokio::test]
#[ignore = "a measurement"]
async fn partitions() {
    let conversations = setting("LARGE_TABLES_EVENTS", 1_000_000) / EVENTS_PER_CONVERSATION;
    let partitions = u16::try_from(setting("LARGE_TABLES_PARTITIONS", 16)).unwrap();
    let (server, url) = server().await;
    let projection = Projection::at(&url).await;
    let lock = SchemasLock::take(&projection.model).await.unwrap().unwrap();
    let mut sides = Vec::new();
    for partitions in [1, partitions] {
        sides.push(side(&url, &lock, partitions, conversations).await);
    }
    let mut connection = PgConnection::connect(&url).await.unwrap();
    print_sizes(&mut connection, &sides, "filled").await;
    for round in 0..ROUNDS {
        work::read(&url, &sides, conversations).await;
        work::write(&mut sides, round).await;
    }
    work::erase_long(&mut sides).await;
    vacuum(&mut connection, &sides, "after writes", USUAL).await;
    work::erase_idle(&url, &mut sides, conversations).await;
    vacuum(&mut connection, &sides, "after the erasure of a twentieth", USUAL).await;
    print_sizes(&mut connection, &sides, "after the erasure").await;
    for side in &sides {
        let new = conversations..conversations + conversations / 20;
        fill(&mut connection, &side.schema, new).await;
    }
    print_sizes(&mut connection, &sides, "after as many new events").await;
    vacuum(&mut connection, &sides, "after new events", USUAL).await;
    vacuum(&mut connection, &sides, "of all pages", "FREEZE, DISABLE_PAGE_SKIPPING").await;
    server.stop().await;
}
