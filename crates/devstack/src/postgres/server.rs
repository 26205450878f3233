//! A managed Postgres server.

use std::convert::Infallible;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::select;
use tokio::time::sleep;

use super::config::{PostgresConfig, Profile, render};
use super::data_folder::{self, Content};
use super::database::{self, Address};
use crate::account::Account;
use crate::daemon::{Daemon, Server};
use crate::environment;
use crate::error::{StackError, storage};
use crate::folder::ServerFolder;
use crate::locate::{self, locate};
use crate::port;
use crate::step::{Progress, ServerName};
use crate::supervise::Launch;
use crate::watchdog::StopSignal;

const SIGNALS: &[StopSignal] = &[StopSignal::INTERRUPT, StopSignal::QUIT, StopSignal::KILL];
/// For a server with temporary data.
const TEMPORARY_SIGNALS: &[StopSignal] = &[StopSignal::QUIT, StopSignal::KILL];
const CONFIG_FILE: &str = "postgresql.conf";
const SNAPSHOT_INTERVAL: Duration = Duration::from_millis(250);

/// A running Postgres server. A drop stops it and blocks while it writes a checkpoint (at most 30 s). It is also stopped
/// when this process ends.
pub type PostgresServer = Daemon<Postgres>;

impl PostgresServer {
    /// Finds or fetches the program, creates the data folder if it is missing, and starts the server; returns when it
    /// accepts connections.
    ///
    /// # Errors
    /// [`StackError`]: no program, the folder is in use or cannot be used, or the server does not start.
    pub async fn start(config: PostgresConfig, progress: Progress<'_>) -> Result<Self, StackError> {
        Self::start_in(config, None, progress).await
    }

    /// Like [`PostgresServer::start`], for a standby of this server: a streaming replica, which answers reads. A new data folder
    /// is a copy of this server's. It follows this server as long as both use the same folders and ports; `temporary` is removed at
    /// the end.
    ///
    /// # Errors
    /// As [`PostgresServer::start`].
    pub(crate) async fn start_standby_in(
        &self,
        config: PostgresConfig,
        temporary: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let content = Content::CopyOf(self.server.address());
        let started = Self::start_with(content, config, temporary, progress);
        select! {
            started = started => started,
            never = self.log_snapshots() => match never {},
        }
    }

    /// Logs the running transactions again and again: a standby that starts needs them before it accepts connections. By itself,
    /// an idle server logs them after up to 15 s.
    async fn log_snapshots(&self) -> Infallible {
        loop {
            // A failure only makes the standby start later.
            let _ = database::log_snapshot(&self.tool("psql"), self.server.address()).await;
            sleep(SNAPSHOT_INTERVAL).await;
        }
    }

    /// Like [`PostgresServer::start`]; `temporary` is removed at the end.
    pub(crate) async fn start_in(
        config: PostgresConfig,
        temporary: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let content = Content::New(config.profile);
        Self::start_with(content, config, temporary, progress).await
    }

    async fn start_with(
        content: Content<'_>,
        config: PostgresConfig,
        temporary: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let program = locate(&locate::POSTGRES, progress).await?;
        let folder = ServerFolder::lock(&config.folder)?;
        let account = Account::for_postgres();
        account.check_reach(folder.path())?;
        folder.stop_leftover(ServerName::Postgres, SIGNALS, progress).await;
        let programs = program.parent().unwrap_or(&program).to_owned();
        data_folder::make(folder.path(), &programs, content, progress).await?;
        let socket = environment::socket_folder()?;
        account.own(socket.path())?;
        let signals = temporary.as_ref().map_or(SIGNALS, |_| TEMPORARY_SIGNALS);
        let postgres = Postgres { programs, socket, profile: config.profile, signals, preferred: config.port, port: 0 };
        Self::start_server(postgres, folder, temporary, progress).await
    }

    /// The URL of a database over the Unix socket, such as
    /// `postgres://hansard@localhost:5432/name?host=/tmp/hansard-x`. Without the parameter `host` it is the URL over TCP, for
    /// [`Profile::Test`]. A restart does not change it.
    #[must_use]
    pub fn database_url(&self, name: &str) -> String {
        database::url(self.server.address(), name)
    }

    /// Creates the empty UTF-8 database `name`, unless it exists.
    ///
    /// # Errors
    /// [`StackError::NoDatabase`]: the name is not 1 to 63 characters of `a-z`, `0-9`, `_`, or Postgres fails.
    pub async fn create_database(&self, name: &str) -> Result<(), StackError> {
        database::create(&self.tool("createdb"), self.server.address(), name).await
    }

    /// The path of a program of Postgres, such as `psql`; it may be missing.
    #[must_use]
    pub fn tool(&self, name: &str) -> PathBuf {
        self.server.programs.join(name)
    }

    /// The port: part of the socket's name, and the TCP port on 127.0.0.1 for [`Profile::Test`].
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.port
    }
}

/// The differences of Postgres.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    socket: TempDir,
    profile: Profile,
    signals: &'static [StopSignal],
    preferred: Option<u16>,
    port: u16,
}

impl Postgres {
    fn address(&self) -> Address<'_> {
        Address { socket_folder: self.socket.path(), port: self.port }
    }
}

impl Server for Postgres {
    const NAME: ServerName = ServerName::Postgres;

    fn choose_ports(&mut self) -> Result<(), StackError> {
        self.port = port::choose(self.preferred)?;
        Ok(())
    }

    fn prepare(&self, folder: &Path) -> Result<Launch, StackError> {
        let data = data_folder::path(folder);
        data_folder::replace_stale_pid(&data)?;
        let file = data.join(CONFIG_FILE);
        let text = render(self.profile, self.port, self.socket.path());
        fs::write(&file, text).map_err(storage(&file))?;
        let account = Account::for_postgres();
        account.own(&file)?;
        Ok(Launch {
            program: self.programs.join("postgres"),
            arguments: vec!["-D".into(), data.into()],
            account,
            signals: self.signals,
            cleanup_folders: vec![self.socket.path().to_owned()],
        })
    }

    async fn is_ready(&self, folder: &Path, pid: u32) -> bool {
        data_folder::accepts_connections(&data_folder::path(folder), pid)
    }
}
