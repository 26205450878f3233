//! Logins of a server of the test, with the rights that its administrator gives them.

use devstack::PostgresServer;
use devstack::test::postgres;
use read_model::{ReadModel, ReadModelConfig};
use sqlx::{Connection as _, Executor as _, PgConnection};

/// A server and a connection of its administrator.
pub(crate) struct Logins {
    pub(crate) server: PostgresServer,
    administrator: PgConnection,
}

impl Logins {
    pub(crate) async fn new() -> Self {
        let server = postgres().await;
        let administrator = PgConnection::connect(&server.database_url("postgres")).await.unwrap();
        Self { server, administrator }
    }

    /// The read model of a database under a login.
    pub(crate) fn model(&self, login: &str, database: &str) -> ReadModel {
        let url = self.server.database_url(database).replacen("hansard@", &format!("{login}@"), 1);
        ReadModel::connect_lazy(&ReadModelConfig::new(url)).unwrap()
    }

    /// Runs a statement as the administrator.
    pub(crate) async fn run(&mut self, statement: &str) {
        let statement = sqlx::AssertSqlSafe(statement.to_owned());
        self.administrator.execute(statement).await.unwrap();
    }
}
