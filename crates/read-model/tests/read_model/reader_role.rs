//! The reader role with restricted logins, as on managed servers.

use devstack::PostgresServer;
use devstack::test::postgres;
use read_model::{ReadModel, ReadModelConfig, ReadModelError, conversation};
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::fixture::{Author, access};

/// A server and a connection of an administrator. Each login has a database of its own.
struct Scene {
    server: PostgresServer,
    administrator: PgConnection,
}

impl Scene {
    async fn new() -> Self {
        let server = postgres().await;
        let administrator = PgConnection::connect(&server.database_url("postgres")).await.unwrap();
        Self { server, administrator }
    }

    async fn login(&mut self, name: &'static str, rights: &str) -> ReadModel {
        self.server.create_database(name).await.unwrap();
        self.run(&format!("CREATE ROLE {name} LOGIN {rights}")).await;
        self.run(&format!("GRANT CREATE ON DATABASE {name} TO {name}")).await;
        let url = self.server.database_url(name).replacen("hansard@", &format!("{name}@"), 1);
        ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap()
    }

    async fn run(&mut self, statement: &str) {
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        self.administrator.execute(statement).await.unwrap();
    }
}

/// The statement that the administrator must run.
fn asked(outcome: Result<(), ReadModelError>) -> String {
    let Err(error @ ReadModelError::AdministratorNeeded { .. }) = outcome else {
        panic!("{outcome:?}");
    };
    statement_of(&error)
}

fn statement_of(error: &ReadModelError) -> String {
    let text = error.to_string();
    let (_, statement) = text.split_once("must run: ").unwrap();
    statement.to_owned()
}

#[tokio::test]
async fn errors_name_the_statement_for_the_administrator() {
    let mut scene = Scene::new().await;
    let plain = scene.login("plain", "").await;
    let read = async || {
        let id = Author::new("c").key.conversation;
        conversation(&plain, &access("acme"), &id).await.map(drop)
    };
    assert!(read().await.unwrap_err().is_unavailable());
    for expected in ["CREATE ROLE hansard_reader NOLOGIN", "GRANT hansard_reader TO plain"] {
        let statement = asked(plain.migrate().await);
        assert_eq!(statement, expected);
        scene.run(&statement).await;
    }
    plain.migrate().await.unwrap();
    plain.check().await.unwrap();
    read().await.unwrap();
    // Another process, after the role was revoked.
    scene.run("REVOKE hansard_reader FROM plain").await;
    let url = scene.server.database_url("plain").replacen("hansard@", "plain@", 1);
    let late = ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap();
    let error = late.check().await.unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    let statement = statement_of(&error);
    assert_eq!(statement, "GRANT hansard_reader TO \"plain\"");
    scene.run(&statement).await;
    late.check().await.unwrap();
}

#[tokio::test]
async fn a_login_with_createrole_needs_no_administrator() {
    let mut scene = Scene::new().await;
    let maker = scene.login("maker", "CREATEROLE").await;
    maker.migrate().await.unwrap();
    maker.check().await.unwrap();
    maker.migrate().await.unwrap();
}

#[tokio::test]
async fn databases_of_one_server_migrate_concurrently() {
    const DATABASES: usize = 12;
    let server = postgres().await;
    let mut models = Vec::new();
    for n in 0..DATABASES {
        let name = format!("together_{n}");
        server.create_database(&name).await.unwrap();
        let config = ReadModelConfig::new(server.database_url(&name));
        models.push(ReadModel::connect_lazy(&config).unwrap());
    }
    for outcome in futures::future::join_all(models.iter().map(ReadModel::migrate)).await {
        outcome.unwrap();
    }
    for model in models {
        model.check().await.unwrap();
    }
}
