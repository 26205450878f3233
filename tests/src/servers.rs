//! NATS and Postgres for one test.

use devstack::{NatsServer, PostgresServer};

/// The database of a Postgres of the test's own.
const DATABASE: &str = "hansard";

/// Which Postgres a test gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostgresChoice {
    /// A database of its own in a server that all tests of the process share.
    Shared,
    /// A server of its own, to kill and freeze.
    Own,
}

/// The servers of one test. Dropped, its own ones end.
#[derive(Debug)]
pub struct Servers {
    nats: NatsServer,
    postgres: Option<PostgresServer>,
    database_url: String,
}

impl Servers {
    /// Starts them; both are ready then, and empty. `nats_lines` are further lines of the nats-server's configuration.
    pub async fn start(choice: PostgresChoice, nats_lines: &str) -> Self {
        let nats = devstack::test::nats_with(|config| nats_lines.clone_into(&mut config.extra));
        let (nats, (postgres, database_url)) = tokio::join!(nats, start_postgres(choice));
        Self {
            nats,
            postgres,
            database_url,
        }
    }

    /// The nats-server.
    #[must_use]
    pub fn nats(&self) -> &NatsServer {
        &self.nats
    }

    /// The nats-server, to kill, freeze and restart.
    pub fn nats_mut(&mut self) -> &mut NatsServer {
        &mut self.nats
    }

    /// The URL of the test's database.
    #[must_use]
    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    /// The Postgres of the test's own, to kill, freeze and restart.
    ///
    /// # Panics
    /// When the test asked for [`PostgresChoice::Shared`].
    pub fn postgres_mut(&mut self) -> &mut PostgresServer {
        self.postgres
            .as_mut()
            .expect("a Postgres of the test's own")
    }
}

async fn start_postgres(choice: PostgresChoice) -> (Option<PostgresServer>, String) {
    match choice {
        PostgresChoice::Shared => (None, devstack::test::database().await.url),
        PostgresChoice::Own => {
            let server = devstack::test::postgres().await;
            server.create_database(DATABASE).await.expect("a database");
            let url = server.database_url(DATABASE);
            (Some(server), url)
        }
    }
}
