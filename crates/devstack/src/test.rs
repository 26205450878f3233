//! Temporary servers for tests, on their own ports, and a search in their files. They end with the test or its process.

use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

use crate::environment;
use crate::error::{StackError, unrunnable};
use crate::locate::{self, locate};
use crate::nats::{NatsConfig, NatsServer};
use crate::postgres::{PostgresConfig, PostgresServer, Profile};
use crate::step::quiet;

/// One server for all tests of a process. It is never dropped: its watchdog stops it and removes its folder when
/// the process ends.
static SHARED_POSTGRES: OnceCell<PostgresServer> = OnceCell::const_new();
static DATABASES: AtomicU64 = AtomicU64::new(1);
/// Maximum duration of a statement, and of the wait for a standby.
const SQL_LIMIT: Duration = Duration::from_secs(30);
const SQL_POLL: Duration = Duration::from_millis(10);

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
    let (folder, config) = postgres_folder();
    unwrap(PostgresServer::start_in(config, Some(folder), &quiet).await)
}

/// A standby of a server of [`postgres`]: a streaming replica with its databases, to read, kill and pause. A drop removes it
/// with its data. Drop it before its primary.
///
/// # Panics
/// If it does not start.
pub async fn standby(primary: &PostgresServer) -> PostgresServer {
    let (folder, config) = postgres_folder();
    let standby = primary.start_standby_in(config, Some(folder), &quiet);
    unwrap(standby.await)
}

/// Stops a standby from following its primary, when it has everything that the primary has.
///
/// # Panics
/// If one of them does not answer, or the standby does not stop in time.
pub async fn pause_replay(primary: &PostgresServer, standby: &PostgresServer) {
    // Its commit flushes the commits that were not synced.
    sql(primary, "postgres", "SELECT pg_logical_emit_message(true, 'test', '')").await;
    let end = sql(primary, "postgres", "SELECT pg_current_wal_flush_lsn()").await;
    let is_reached = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
    await_true(standby, &is_reached).await;
    sql(standby, "postgres", "SELECT pg_wal_replay_pause()").await;
    await_true(standby, "SELECT pg_get_wal_replay_pause_state() = 'paused'").await;
}

/// Lets a standby follow its primary again.
///
/// # Panics
/// If it does not answer.
pub async fn resume_replay(standby: &PostgresServer) {
    sql(standby, "postgres", "SELECT pg_wal_replay_resume()").await;
}

async fn await_true(server: &PostgresServer, condition: &str) {
    let deadline = Instant::now() + SQL_LIMIT;
    while sql(server, "postgres", condition).await != "t" {
        assert!(Instant::now() < deadline, "not in time: {condition}");
        sleep(SQL_POLL).await;
    }
}

/// Runs a statement with `psql`. Returns its output, without headings.
///
/// # Panics
/// If it fails.
pub async fn sql(server: &PostgresServer, database: &str, sql: &str) -> String {
    let program = server.tool("psql");
    let output = Command::new(&program)
        .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", sql])
        .arg(server.database_url(database))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(SQL_LIMIT, output).await.unwrap_or_else(|_| Err(ErrorKind::TimedOut.into()));
    let output = unwrap(output.map_err(unrunnable(&program)));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{sql}: {stderr}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn postgres_folder() -> (TempDir, PostgresConfig) {
    let folder = unwrap(environment::scratch_folder());
    let config = PostgresConfig { profile: Profile::Test, ..PostgresConfig::new(folder.path()) };
    (folder, config)
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
    TestDatabase { url: server.database_url(&name) }
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

/// The files below a folder that contain these bytes.
#[must_use]
pub fn files_with(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // Files appear and disappear while servers run.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if let Ok(content) = fs::read(&path)
            && content.windows(bytes.len()).any(|window| window == bytes)
        {
            found.push(path);
        }
    }
    found
}
