//! Schemas whose events an earlier version divided into table partitions: they are read, written, rebuilt into one table, and dropped.

use domain::{Fact, Lifecycle};
use read_model::projections::conversations::{Item, residue};
use read_model::schemas::{DropOutcome, SchemaBuild, SchemasLock};
use read_model::{Direction, ReadModel, SchemaName, head_and_events};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, Projection, access, execute, message};
use crate::rows::all;
use crate::schemas::{differing, history, in_schema, made};
use crate::schemas_structure::{STRUCTURE, differences};

/// Makes the schema that is being built the live one.
const SWITCH: &str = "
    UPDATE hansard.schema SET phase = 'whole';
    UPDATE hansard.projection SET live_schema = (SELECT max(name) FROM hansard.schema) WHERE name = 'conversations'";
const PARTITIONS: [&str; 2] = ["conversations_v1.event_p00", "conversations_v1.event_p01"];
const AUTHORS: usize = 20;
/// The creation and two messages of each author.
const EVENTS_PER_AUTHOR: i64 = 3;

/// A live schema with table partitions, and a rebuilt one.
struct Rebuilt {
    live: Projection,
    lock: SchemasLock,
    building: SchemaBuild,
}

async fn rebuilt(url: &str, authors: &mut [Author]) -> Rebuilt {
    let mut live = Projection::at(url).await;
    execute(url, include_str!("partitioned_events.sql")).await;
    let mut items = history();
    let mut at = 1_000;
    for author in authors {
        items.push(author.begin(at));
        items.push(author.commit(at + 1, vec![message("x"), message("y")]));
        at += 2;
    }
    live.apply(items.clone()).await;
    let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
    let building = made(&lock, &items, 10).await;
    Rebuilt { live, lock, building }
}

fn authors() -> Vec<Author> {
    (0..AUTHORS).map(|n| Author::new(&format!("erased{n}"))).collect()
}

fn erasures(authors: &mut [Author]) -> Vec<Item> {
    let erased = || vec![Fact::Lifecycle(Lifecycle::ConversationErased)];
    let erase = |(author, at): (&mut Author, u64)| author.commit(at, erased());
    authors.iter_mut().zip(2_000..).map(erase).collect()
}

async fn rows(url: &str, table: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let count = format!("SELECT count(*) FROM {table}");
    connection.fetch_one(AssertSqlSafe(count)).await.unwrap().get(0)
}

/// The rows of the table partitions, each of which has some.
async fn rows_of_partitions(url: &str) -> i64 {
    let [first, second] = [rows(url, PARTITIONS[0]).await, rows(url, PARTITIONS[1]).await];
    assert!(first > 0 && second > 0, "{first}, {second}");
    first + second
}

async fn events_read(model: &ReadModel, author: &Author) -> usize {
    let read = head_and_events(model, &access("acme"), &author.key.conversation, &all(Direction::Forward)).await;
    read.unwrap().unwrap().1.len()
}

#[tokio::test]
async fn a_rebuild_makes_one_table() {
    let url = devstack::test::database().await.url;
    let mut authors = authors();
    let Rebuilt { live, lock, building } = rebuilt(&url, &mut authors).await;
    assert_eq!(rows_of_partitions(&url).await, rows(&url, "conversations_v2.event").await);
    assert_eq!(differing(&live.model, building.model()).await, [""; 0]);
    for model in [&live.model, building.model()] {
        assert_eq!(events_read(model, &authors[0]).await, 3);
    }
    let unpartitioned = devstack::test::database().await.url;
    drop(Projection::at(&unpartitioned).await);
    let expected = in_schema(&unpartitioned, STRUCTURE, SchemaName::FIRST).await;
    let found = in_schema(&url, STRUCTURE, building.name()).await;
    assert_eq!(differences(&expected, &found), [[""; 0]; 2]);
    execute(&url, SWITCH).await;
    assert_eq!(lock.drop_schema(SchemaName::FIRST).await, Ok(DropOutcome::Dropped));
    let left = "(SELECT FROM pg_class WHERE relname LIKE 'event\\_p0_') AS left_over";
    assert_eq!(rows(&url, left).await, 0);
}

#[tokio::test]
async fn erasures_reach_each_partition_of_live_and_retained_schemas() {
    for is_retained in [false, true] {
        let url = devstack::test::database().await.url;
        let mut authors = authors();
        let Rebuilt { mut live, building, .. } = rebuilt(&url, &mut authors).await;
        let before = rows_of_partitions(&url).await;
        if is_retained {
            execute(&url, SWITCH).await;
            Projection::of(building.model().clone()).await.apply(erasures(&mut authors)).await;
        } else {
            live.apply(erasures(&mut authors)).await;
        }
        assert_eq!(before - rows_of_partitions(&url).await, EVENTS_PER_AUTHOR * i64::try_from(AUTHORS).unwrap());
        for table in PARTITIONS {
            let of_erased = format!("{table} WHERE conversation_id LIKE 'erased%'");
            assert_eq!(rows(&url, &of_erased).await, 0, "{table}");
        }
        let keys: Vec<_> = authors.iter().map(|author| &author.key).collect();
        assert_eq!(residue(&live.model.in_schema(SchemaName::FIRST), &keys).await, Ok(0));
    }
}

#[tokio::test]
async fn readers_cannot_read_partitions() {
    let url = devstack::test::database().await.url;
    let _rebuilt = rebuilt(&url, &mut authors()).await;
    let mut reader = PgConnection::connect(&url).await.unwrap();
    for statement in ["SET ROLE hansard_reader", "SET hansard.tenant = 'globex'"] {
        reader.execute(statement).await.unwrap();
    }
    let rows = reader.fetch_all("SELECT version FROM conversations_v1.event").await.unwrap();
    assert_eq!(rows.len(), 0, "rows of another tenant");
    for table in PARTITIONS {
        let select = format!("SELECT version FROM {table}");
        let error = reader.fetch_all(AssertSqlSafe(select)).await.unwrap_err();
        let code = error.as_database_error().unwrap().code();
        assert_eq!(code.as_deref(), Some("42501"), "{table}");
    }
}
