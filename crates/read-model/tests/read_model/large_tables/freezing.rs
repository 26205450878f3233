//! Freezing: at the first vacuum of a page, or at the end.

use read_model::schemas::SchemasLock;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

use super::side::{EVENTS_PER_CONVERSATION, fill, side, vacuum_side};
use super::{USUAL, server, setting};
use crate::fixture::Projection;

const PARTS: i64 = 5;
const TURNS: usize = 2;

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
            let side = side(&url, &lock, 1, 0).await;
            let setting = format!("SET vacuum_freeze_min_age = {min_age}");
            connection.execute(AssertSqlSafe(setting)).await.unwrap();
            for number in 0..PARTS {
                let new = number * part..(number + 1) * part;
                fill(&mut connection, &side.schema, new).await;
                let when = format!("after part {number}, freezing rows older than {min_age}");
                vacuum_side(&mut connection, &side, &when, USUAL).await;
                // Autovacuum follows the rows in time, and a checkpoint follows it: a page is vacuumed before it is written.
                connection.execute("CHECKPOINT").await.unwrap();
            }
            vacuum_side(&mut connection, &side, "to freeze all", "FREEZE").await;
        }
    }
    server.stop().await;
}
