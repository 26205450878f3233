//! Temporary servers for tests, on their own ports. They end with the test or its process.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::OnceCell;

use crate::environment;
use crate::error::StackError;
use crate::locate::{self, locate};
use crate::nats::{NatsConfig, NatsServer};
use crate::postgres::{PostgresConfig, PostgresServer, Profile};
use crate::step::quiet;

/// One server for all tests of a process. It is never dropped: its watchdog stops it and removes its folder when
/// the process ends.
static SHARED_POSTGRES: OnceCell<PostgresServer> = OnceCell::const_new();
static DATABASES: AtomicU64 = AtomicU64::new(1);

/// A nats-server of one test, as durable as in production. A drop removes it with its store.
///
/// # Panics
/// If it does not start.
pub async fn nats() -> NatsServer {
    nats_with(|_| ()).await
}

/// Like [`nats`], with changes to its configuration; the folder must not change.
///
/// # Panics
/// If it does not start.
pub async fn nats_with(change: impl FnOnce(&mut NatsConfig)) -> NatsServer {
    let folder = unwrap(environment::scratch_folder());
    let mut config = NatsConfig::new(folder.path());
    change(&mut config);
    unwrap(NatsServer::start_in(config, Some(folder), &quiet).await)
}

/// A Postgres server of one test, to kill and pause. A drop removes it with its data. Tests that only need a
/// database use [`database`].
///
/// # Panics
/// If it does not start.
pub async fn postgres() -> PostgresServer {
    let folder = unwrap(environment::scratch_folder());
    let config = PostgresConfig {
        profile: Profile::Test,
        ..PostgresConfig::new(folder.path())
    };
    unwrap(PostgresServer::start_in(config, Some(folder), &quiet).await)
}

/// An empty database of one test, in a server that all tests of the process share.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    /// Its URL.
    pub url: String,
}

/// A new database; it is removed with the shared server when the process ends.
///
/// # Panics
/// If the server does not start.
pub async fn database() -> TestDatabase {
    let server = SHARED_POSTGRES.get_or_init(postgres).await;
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    unwrap(server.create_database(&name).await);
    TestDatabase {
        url: server.database_url(&name),
    }
}

/// The path of nats-server, to check configuration files.
///
/// # Panics
/// If it is not found and cannot be fetched.
pub async fn nats_program() -> PathBuf {
    unwrap(locate(&locate::NATS, &quiet).await)
}

#[expect(clippy::panic, reason = "a test without its server must fail")]
fn unwrap<T>(result: Result<T, StackError>) -> T {
    result.unwrap_or_else(|error| {
        let cause = error.source().map(|source| format!(": {source}"));
        panic!("{error}{}", cause.unwrap_or_default())
    })
}
