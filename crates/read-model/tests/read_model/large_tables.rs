//! Measurements of large tables, each with `cargo test --workspace --test read_model -- --ignored --nocapture large_tables::NAME`:
//!
//! - `freezing`: the first vacuum of pages, with and without freezing, and the last one.
//! - `listing_indexes`: how large the indexes of conversations become, and how large they are when they are built again.
//!
//! `LARGE_TABLES_EVENTS` is the number of events, about 510 bytes each in `TMPDIR`.

mod freezing;
mod listing_indexes;

use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::DurableServer;

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
