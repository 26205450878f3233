//! Migrations: concurrent processes, newer programs, and damaged rows.

use read_model::projections::search::request_reindex;
use read_model::{Migrations, ReadModel, ReadModelConfig, ReadModelError, SchemaName, conversation, schema_status};
use sqlx::{Connection as _, PgConnection};

use crate::fixture::{Author, Projection, access, execute};

fn model(url: &str) -> ReadModel {
    ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap()
}

#[tokio::test]
async fn processes_migrate_concurrently() {
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
    let live: String = sqlx::query_scalar("SELECT live_schema FROM hansard.projection WHERE name = 'conversations'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(live, SchemaName::FIRST.to_string());
    assert_eq!(models[0].live_schema().await, Ok(SchemaName::FIRST));
}

/// Migrations run without a timeout, on a connection that nothing else uses.
#[tokio::test]
async fn statements_have_their_timeout_after_a_migration() {
    let url = devstack::test::database().await.url;
    let config = ReadModelConfig { statement_timeout_ms: 300, ..ReadModelConfig::new(&url) };
    let model = ReadModel::connect_lazy(&config).unwrap();
    model.migrate().await.unwrap();
    let mut owner = PgConnection::connect(&url).await.unwrap();
    let lock = "BEGIN; LOCK TABLE search_v1.agent";
    sqlx::raw_sql(lock).execute(&mut owner).await.unwrap();
    let outcome = request_reindex(&model, None).await;
    let error = outcome.unwrap_err().to_string();
    // That of the server, not that of the client.
    assert!(error.contains("SQLSTATE 57014"), "{error}");
}

/// What an additive migration of a newer program adds.
const ADDITIVE: &str = "
    ALTER TABLE conversations_v1.conversation ADD COLUMN later bigint;
    INSERT INTO hansard.migration (version, description, success, checksum, execution_time)
    VALUES (9001, 'later', true, '', 0)";
/// What another one adds, which programs must know.
const BREAKING: &str = "
    ALTER TABLE hansard.migration ALTER COLUMN floor SET DEFAULT 9002;
    INSERT INTO hansard.migration (version, description, success, checksum, execution_time)
    VALUES (9002, 'later', true, '', 0)";

#[tokio::test]
async fn a_newer_schema_is_accepted_until_a_migration_must_be_known() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let model = projection.model.clone();
    execute(&url, ADDITIVE).await;
    model.migrate().await.unwrap();
    model.check().await.unwrap();
    let mut author = Author::new("c");
    projection.apply(vec![author.begin(1)]).await;
    let id = &author.key.conversation;
    let read = conversation(&model, &access("acme"), id).await.unwrap();
    assert_eq!(read.unwrap().head.version.0, 1);
    let status = schema_status(&model).await.unwrap();
    let Migrations { found, floor, .. } = status.migrations;
    assert_eq!((found, floor), (9_001, 21));

    execute(&url, BREAKING).await;
    for outcome in [model.migrate().await, model.check().await] {
        let Err(error @ ReadModelError::SchemaUnknown { found: 9_002, .. }) = outcome else {
            panic!("{outcome:?}");
        };
        assert!(error.to_string().contains("migration 9002"), "{error}");
    }
}

#[tokio::test]
async fn an_altered_migration_is_rejected() {
    let url = devstack::test::database().await.url;
    let model = model(&url);
    model.migrate().await.unwrap();
    let altered = "UPDATE hansard.migration SET checksum = 'x' WHERE version = 1";
    execute(&url, altered).await;
    assert_eq!(model.migrate().await, Err(ReadModelError::SchemaAltered { version: 1 }));
}

#[tokio::test]
async fn a_damaged_row_is_named() {
    let url = devstack::test::database().await.url;
    let mut projection = Projection::at(&url).await;
    let mut author = Author::new("c");
    projection.apply(vec![author.begin(1)]).await;
    let damage = "UPDATE conversations_v1.conversation SET head = '\\xff'";
    execute(&url, damage).await;
    let read = conversation(&projection.model, &access("acme"), &author.key.conversation).await;
    let expected =
        ReadModelError::Corrupt { table: "conversation", row: "acme/c".to_owned(), field: "head".to_owned() };
    assert_eq!(read, Err(expected));
}

#[test]
fn invalid_urls_are_rejected() {
    for url in ["", "not a url", "postgres://[/"] {
        let outcome = ReadModel::connect_lazy(&ReadModelConfig::new(url));
        assert!(matches!(outcome, Err(ReadModelError::Misconfigured)), "{url}");
    }
    let config = ReadModelConfig::new("postgres://u:hunter2@h/d");
    assert!(!format!("{config:?}").contains("hunter2"));
}
