//! NATS and Postgres for one test.

use std::time::Duration;

use devstack::{NatsConfig, NatsServer, PostgresServer};
use futures::future::try_join_all;
use serde_json::Value;
use tokio::time::timeout;

use crate::admin;

/// How long a page of a server's monitoring port may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

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

/// Which nats-servers a test gets.
#[derive(Debug, Clone)]
pub enum NatsChoice {
    /// One, which is thrown away, with these further lines in its configuration.
    One(String),
    /// These: a cluster, or one whose folder the test has chosen. Nobody removes their folders.
    These(Vec<NatsConfig>),
}

/// The servers of one test. Dropped, its own ones end.
#[derive(Debug)]
pub struct Servers {
    // Never empty; the first is the one that a test of a single server means.
    nats: Vec<NatsServer>,
    postgres: Option<PostgresServer>,
    database_url: String,
}

impl Servers {
    /// Starts them; all are ready then, and empty.
    pub async fn start(postgres: PostgresChoice, nats: NatsChoice) -> Self {
        let (nats, (postgres, database_url)) =
            tokio::join!(start_nats(nats), start_postgres(postgres));
        Self {
            nats,
            postgres,
            database_url,
        }
    }

    /// The nats-server, the first of several.
    ///
    /// # Panics
    /// Never: there is always one.
    #[must_use]
    pub fn nats(&self) -> &NatsServer {
        self.nats.first().expect("a nats-server")
    }

    /// The nats-server, to kill, freeze and restart; the first of several.
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

/// A page of a nats-server's monitoring port, such as `/healthz`, which is JSON whatever its status; `None` without an answer.
///
/// # Panics
/// When the server has no such port.
pub async fn nats_page(server: &NatsServer, path: &str) -> Option<Value> {
    let url = server.monitor_url();
    let addr = url
        .trim_start_matches("http://")
        .parse()
        .expect("an address");
    let answer = timeout(PAGE_TIMEOUT, admin::get(addr, path)).await.ok()?;
    serde_json::from_str(&answer.ok()?.body).ok()
}

async fn start_nats(choice: NatsChoice) -> Vec<NatsServer> {
    match choice {
        NatsChoice::One(lines) => {
            vec![devstack::test::nats_with(|config| config.extra = lines).await]
        }
        NatsChoice::These(configs) => {
            let starting = configs
                .into_iter()
                .map(|config| NatsServer::start(config, &devstack::quiet));
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
