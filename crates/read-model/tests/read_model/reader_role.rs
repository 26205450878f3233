//! The reader role with restricted logins, as on managed servers.

use devstack::test::postgres;
use read_model::{ReadModel, ReadModelConfig, ReadModelError, conversation};

use crate::fixture::{Author, access};
use crate::logins::Logins;

/// A new login with a database of its own.
async fn login(logins: &mut Logins, name: &'static str, rights: &str) -> ReadModel {
    logins.server.create_database(name).await.unwrap();
    logins.run(&format!("CREATE ROLE {name} LOGIN {rights}")).await;
    logins.run(&format!("GRANT CREATE ON DATABASE {name} TO {name}")).await;
    logins.model(name, name)
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
    let mut logins = Logins::new().await;
    let plain = login(&mut logins, "plain", "").await;
    let read = async || {
        let id = Author::new("c").key.conversation;
        conversation(&plain, &access("acme"), &id).await.map(drop)
    };
    assert!(read().await.unwrap_err().is_unavailable());
    for expected in ["CREATE ROLE hansard_reader NOLOGIN", "GRANT hansard_reader TO plain"] {
        let statement = asked(plain.migrate().await);
        assert_eq!(statement, expected);
        logins.run(&statement).await;
    }
    plain.migrate().await.unwrap();
    plain.check().await.unwrap();
    read().await.unwrap();
    // Another process, after the role was revoked.
    logins.run("REVOKE hansard_reader FROM plain").await;
    let late = logins.model("plain", "plain");
    let error = late.check().await.unwrap_err();
    assert!(error.is_unavailable(), "{error}");
    let statement = statement_of(&error);
    assert_eq!(statement, "GRANT hansard_reader TO \"plain\"");
    logins.run(&statement).await;
    late.check().await.unwrap();
}

#[tokio::test]
async fn a_login_with_createrole_needs_no_administrator() {
    let mut logins = Logins::new().await;
    let maker = login(&mut logins, "maker", "CREATEROLE").await;
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
