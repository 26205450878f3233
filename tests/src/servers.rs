//! NATS and Postgres for one test.

use std::time::Duration;

use devstack::{NatsConfig, NatsServer, PostgresServer};
use futures::future::try_join_all;
use serde_json::Value;
use tokio::time::timeout;

use crate::admin;

/// The timeout of a page of a server's monitoring port.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// The database in a Postgres of the test.
const DATABASE: &str = "hansard";

/// The Postgres of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PostgresChoice {
    /// A new database in a server that all tests of the process share.
    Shared,
    /// A separate server, to kill and freeze.
    Own,
}

/// The nats-servers of a test.
#[derive(Debug, Clone)]
pub enum NatsChoice {
    /// One temporary server, with these further configuration lines.
    One(String),
    /// These servers: a cluster, or one in a folder of the test. The caller removes their folders.
    These(Vec<NatsConfig>),
}

/// The servers of one test. Servers of the test end when dropped.
#[derive(Debug)]
pub struct Servers {
    // Never empty; the first is the server of tests with a single one.
    nats: Vec<NatsServer>,
    postgres: Option<PostgresServer>,
    database_url: String,
}

impl Servers {
    /// Starts the servers and waits until they are ready.
    pub async fn start(postgres: PostgresChoice, nats: NatsChoice) -> Self {
        let (nats, (postgres, database_url)) = tokio::join!(start_nats(nats), start_postgres(postgres));
        Self { nats, postgres, database_url }
    }

    /// The first nats-server.
    ///
    /// # Panics
    /// Never: there is always one.
    #[must_use]
    pub fn nats(&self) -> &NatsServer {
        self.nats.first().expect("a nats-server")
    }

    /// The first nats-server, to kill, freeze and restart.
    ///
    /// # Panics
    /// Never: there is always one.
    pub fn nats_mut(&mut self) -> &mut NatsServer {
        self.nats.first_mut().expect("a nats-server")
    }

    /// Every nats-server.
    #[must_use]
    pub fn cluster(&self) -> &[NatsServer] {
        &self.nats
    }

    /// Every nats-server, to kill, freeze and restart.
    pub fn cluster_mut(&mut self) -> &mut [NatsServer] {
        &mut self.nats
    }

    /// The URL of the test's database.
    #[must_use]
    pub fn database_url(&self) -> &str {
        &self.database_url
    }

    /// The Postgres of the test, to kill, freeze and restart.
    ///
    /// # Panics
    /// When the test uses [`PostgresChoice::Shared`].
    pub fn postgres_mut(&mut self) -> &mut PostgresServer {
        self.postgres.as_mut().expect("a Postgres of the test's own")
    }
}

/// A JSON page of a nats-server's monitoring port, such as `/healthz`, with any status; `None` without an answer.
///
/// # Panics
/// When the server has no such port.
pub async fn nats_page(server: &NatsServer, path: &str) -> Option<Value> {
    let url = server.monitor_url();
    let addr = url.trim_start_matches("http://").parse().expect("an address");
    let answer = timeout(PAGE_TIMEOUT, admin::get(addr, path)).await.ok()?;
    serde_json::from_str(&answer.ok()?.body).ok()
}

async fn start_nats(choice: NatsChoice) -> Vec<NatsServer> {
    match choice {
        NatsChoice::One(lines) => {
            vec![devstack::test::nats_with(|config| config.extra = lines).await]
        }
        NatsChoice::These(configs) => {
            let starting = configs.into_iter().map(|config| NatsServer::start(config, &devstack::quiet));
            try_join_all(starting).await.expect("nats-servers")
        }
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
