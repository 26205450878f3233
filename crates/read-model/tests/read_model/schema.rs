//! Migrations: once, together, and never behind a later program's back.

use read_model::{ReadModel, ReadModelConfig, ReadModelError, SchemaName, conversation};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::{Author, access};

fn model(url: &str) -> ReadModel {
    ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap()
}

#[tokio::test]
async fn many_processes_migrate_at_once() {
    let url = devstack::test::database().await.url;
    let models: Vec<ReadModel> = (0..6).map(|_| model(&url)).collect();
    let id = Author::new("c").key.conversation;
    let read = conversation(&models[0], &access("acme"), &id).await;
    assert!(read.unwrap_err().is_unavailable());
    assert!(models[0].check().await.unwrap_err().is_unavailable());
    for outcome in futures::future::join_all(models.iter().map(ReadModel::migrate)).await {
        outcome.unwrap();
    }
    models[0].check().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let live: String = sqlx::query_scalar(
        "SELECT live_schema FROM hansard.projection WHERE name = 'conversations'",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    assert_eq!(live, SchemaName::FIRST.to_string());
    assert_eq!(models[0].live_schema().await, Ok(SchemaName::FIRST));
}

#[tokio::test]
async fn a_later_schema_is_refused_by_its_number() {
    let url = devstack::test::database().await.url;
    let model = model(&url);
    model.migrate().await.unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let later =
        "INSERT INTO hansard.migration (version, description, success, checksum, execution_time)
                 VALUES (9001, 'later', true, '', 0)";
    connection.execute(later).await.unwrap();
    for outcome in [model.migrate().await, model.check().await] {
        let Err(error @ ReadModelError::SchemaUnknown { found: 9_001, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(error.to_string().contains("migration 9001"), "{error}");
    }
    connection
        .execute("UPDATE hansard.migration SET checksum = 'x' WHERE version = 1")
        .await
        .unwrap();
    connection
        .execute("DELETE FROM hansard.migration WHERE version = 9001")
        .await
        .unwrap();
    assert_eq!(
        model.migrate().await,
        Err(ReadModelError::SchemaAltered { version: 1 })
    );
}

#[tokio::test]
async fn a_damaged_row_is_named() {
    let url = devstack::test::database().await.url;
    let mut projection = crate::fixture::Projection::at(&url).await;
    let mut author = Author::new("c");
    projection.apply(vec![author.begin(1)]).await;
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection
        .execute("UPDATE conversations_v1.conversation SET head = '\\xff'")
        .await
        .unwrap();
    let read = conversation(&projection.model, &access("acme"), &author.key.conversation).await;
    let expected = ReadModelError::Corrupt {
        table: "conversation",
        row: "acme/c".to_owned(),
        field: "head".to_owned(),
    };
    assert_eq!(read, Err(expected));
}

#[test]
fn a_url_that_cannot_be_used() {
    for url in ["", "not a url", "postgres://[/"] {
        let outcome = ReadModel::connect_lazy(&ReadModelConfig::new(url));
        assert!(
            matches!(outcome, Err(ReadModelError::Misconfigured)),
            "{url}"
        );
    }
    let config = ReadModelConfig::new("postgres://u:hunter2@h/d");
    assert!(!format!("{config:?}").contains("hunter2"));
}
