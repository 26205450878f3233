//! Servers for tests: throw-away, on ports of their own, and gone when the test, or its process, is.

use std::error::Error;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::OnceCell;

use crate::error::StackError;
use crate::locate::{self, locate};
use crate::nats::{NatsConfig, NatsServer};
use crate::postgres::{PostgresConfig, PostgresServer, Profile};
use crate::scratch;
use crate::step::quiet;

/// One server for all tests of a process. Never dropped: its watchdog stops it, and removes its folder, when
/// the process ends.
static SHARED_POSTGRES: OnceCell<PostgresServer> = OnceCell::const_new();
static DATABASES: AtomicU64 = AtomicU64::new(1);

/// A nats-server of the test's own, as durable as in production; removed with its store when dropped.
///
/// # Panics
/// When it cannot be had, with the reason.
pub async fn nats() -> NatsServer {
    nats_with(|_| ()).await
}

/// As [`nats`], with changes to its configuration; the folder must stay.
///
/// # Panics
/// When it cannot be had, with the reason.
pub async fn nats_with(change: impl FnOnce(&mut NatsConfig)) -> NatsServer {
    match throw_away_nats(change).await {
        Ok(server) => server,
        Err(error) => fail(&error),
    }
}

async fn throw_away_nats(change: impl FnOnce(&mut NatsConfig)) -> Result<NatsServer, StackError> {
    let folder = scratch::server_folder()?;
    let mut config = NatsConfig::new(folder.path());
    change(&mut config);
    NatsServer::start_in(config, Some(folder), &quiet).await
}

/// A Postgres of the test's own, to kill and freeze; removed with its data when dropped. Tests that only need
/// a database take [`database`].
///
/// # Panics
/// When it cannot be had, with the reason.
pub async fn postgres() -> PostgresServer {
    match throw_away_postgres().await {
        Ok(server) => server,
        Err(error) => fail(&error),
    }
}

async fn throw_away_postgres() -> Result<PostgresServer, StackError> {
    let folder = scratch::server_folder()?;
    let config = PostgresConfig {
        profile: Profile::Test,
        ..PostgresConfig::new(folder.path())
    };
    PostgresServer::start_in(config, Some(folder), &quiet).await
}

/// An empty database of the test's own, in a server that all tests of the process share.
#[derive(Debug, Clone)]
pub struct TestDatabase {
    /// Its URL.
    pub url: String,
}

/// A fresh database; it goes with the shared server, when the process ends.
///
/// # Panics
/// When it cannot be had, with the reason.
pub async fn database() -> TestDatabase {
    let server = SHARED_POSTGRES.get_or_init(postgres).await;
    let name = format!("test_{}", DATABASES.fetch_add(1, Ordering::Relaxed));
    match server.create_database(&name).await {
        Ok(()) => TestDatabase {
            url: server.database_url(&name),
        },
        Err(error) => fail(&error),
    }
}

/// The program of nats-server, to check configuration files with.
///
/// # Panics
/// When it cannot be had, with the reason.
pub async fn nats_program() -> PathBuf {
    match locate(&locate::NATS, &quiet).await {
        Ok(path) => path,
        Err(error) => fail(&error),
    }
}

#[expect(clippy::panic, reason = "a test without its server must fail")]
fn fail(error: &StackError) -> ! {
    let cause = error
        .source()
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    panic!("{error}{cause}")
}
