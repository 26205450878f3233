//! Events in table partitions: a rebuild creates them, and reads, erasures and comparisons work as with one table.

use domain::{Fact, Lifecycle};
use read_model::projections::conversations::residue;
use read_model::schemas::{SchemaBuild, SchemasLock, list};
use read_model::{Direction, SchemaName, head_and_events};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use crate::fixture::{Author, Projection, access, execute, message};
use crate::rows::all;
use crate::schemas::{differing, history, made_with};

const PARTITIONS: u16 = 4;

/// The names of the table partitions of a schema and their numbers of rows.
async fn rows_of_partitions(url: &str, schema: SchemaName) -> Vec<(String, i64)> {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let names = format!(
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = '{schema}.event'::regclass ORDER BY 1"
    );
    let names = connection.fetch_all(AssertSqlSafe(names)).await.unwrap();
    let mut found = Vec::new();
    for row in &names {
        let name: String = row.get(0);
        let count = connection.fetch_one(AssertSqlSafe(format!("SELECT count(*) FROM {name}"))).await.unwrap();
        found.push((name, count.get(0)));
    }
    found
}

fn total(partitions: &[(String, i64)]) -> i64 {
    partitions.iter().map(|(_, rows)| rows).sum()
}

/// A database with a live schema of one table, and one with table partitions that follows it.
async fn rebuilt(url: &str, conversations: &mut [Author]) -> (Projection, SchemaBuild) {
    let mut live = Projection::at(url).await;
    let mut items = history();
    let mut at = 1_000;
    for author in conversations {
        items.push(author.begin(at));
        items.push(author.commit(at + 1, vec![message("x"), message("y")]));
        at += 2;
    }
    live.apply(items.clone()).await;
    let lock = SchemasLock::take(&live.model).await.unwrap().unwrap();
    let building = made_with(&lock, &items, 10, Some(PARTITIONS)).await;
    (live, building)
}

fn authors() -> Vec<Author> {
    (0..20).map(|n| Author::new(&format!("erased{n}"))).collect()
}

fn erasures(authors: &mut [Author]) -> Vec<read_model::projections::conversations::Item> {
    let erased = || vec![Fact::Lifecycle(Lifecycle::ConversationErased)];
    let erase = |(author, at): (&mut Author, u64)| author.commit(at, erased());
    authors.iter_mut().zip(2_000..).map(erase).collect()
}

#[tokio::test]
async fn a_rebuild_partitions_the_events() {
    let url = devstack::test::database().await.url;
    let mut authors = authors();
    let (live, building) = rebuilt(&url, &mut authors).await;
    let partitions = rows_of_partitions(&url, building.name()).await;
    assert_eq!(partitions.len(), usize::from(PARTITIONS));
    assert!(partitions.iter().all(|(_, rows)| *rows > 0), "{partitions:?}");
    assert_eq!(differing(&live.model, building.model()).await, [""; 0]);
    let schemas = list(&live.model).await.unwrap();
    let tables = schemas.iter().map(|schema| schema.table_partitions.get());
    assert_eq!(tables.collect::<Vec<_>>(), [1, PARTITIONS]);

    let changed = Projection::of(building.model().clone()).await;
    let id = &authors[0].key.conversation;
    let (model, access) = (&changed.model, access("acme"));
    let read = head_and_events(model, &access, id, &all(Direction::Forward)).await;
    assert_eq!(read.unwrap().unwrap().1.len(), 3);
}

#[tokio::test]
async fn an_erasure_leaves_no_row_in_any_partition() {
    let url = devstack::test::database().await.url;
    let mut authors = authors();
    let (_live, building) = rebuilt(&url, &mut authors).await;
    let before = total(&rows_of_partitions(&url, building.name()).await);
    let mut partitioned = Projection::of(building.model().clone()).await;
    partitioned.apply(erasures(&mut authors)).await;
    let partitions = rows_of_partitions(&url, building.name()).await;
    assert_eq!(before - total(&partitions), 60);
    let keys: Vec<_> = authors.iter().map(|author| &author.key).collect();
    assert_eq!(residue(building.model(), &keys).await, Ok(0));
    let mut connection = PgConnection::connect(&url).await.unwrap();
    for (name, _) in &partitions {
        let remains = format!("SELECT 1 FROM {name} WHERE conversation_id LIKE 'erased%'");
        let rows = connection.fetch_all(AssertSqlSafe(remains)).await.unwrap();
        assert_eq!(rows.len(), 0, "{name}");
    }
}

#[tokio::test]
async fn an_erasure_reaches_the_partitions_of_a_retained_schema() {
    let url = devstack::test::database().await.url;
    let mut authors = authors();
    let (mut live, building) = rebuilt(&url, &mut authors).await;
    let before = total(&rows_of_partitions(&url, building.name()).await);
    execute(&url, "UPDATE hansard.schema SET phase = 'whole'").await;
    live.apply(erasures(&mut authors)).await;
    let after = total(&rows_of_partitions(&url, building.name()).await);
    assert_eq!(before - after, 60);
    assert_eq!(differing(&live.model, building.model()).await, [""; 0]);
}

#[tokio::test]
async fn a_reader_sees_no_partition_of_its_own_accord() {
    let url = devstack::test::database().await.url;
    let (_live, building) = rebuilt(&url, &mut authors()).await;
    let partitions = rows_of_partitions(&url, building.name()).await;
    let mut reader = PgConnection::connect(&url).await.unwrap();
    for statement in ["SET ROLE hansard_reader", "SET hansard.tenant = 'globex'"] {
        reader.execute(statement).await.unwrap();
    }
    let of_parent = format!("SELECT version FROM {}.event", building.name());
    let rows = reader.fetch_all(AssertSqlSafe(of_parent)).await.unwrap();
    assert_eq!(rows.len(), 0, "rows of another tenant");
    for (name, _) in partitions {
        let sql = format!("SELECT version FROM {name}");
        let error = reader.fetch_all(AssertSqlSafe(sql)).await.unwrap_err();
        let code = error.as_database_error().unwrap().code();
        assert_eq!(code.as_deref(), Some("42501"), "{name}");
    }
}
