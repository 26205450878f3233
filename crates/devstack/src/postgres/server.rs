//! A Postgres of our own.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::config::{PostgresConfig, Profile, render};
use super::data_folder;
use super::database::{self, Address};
use crate::account::Account;
use crate::daemon::{Daemon, Server};
use crate::error::{StackError, storage};
use crate::folder::ServerFolder;
use crate::locate::{self, locate};
use crate::port;
use crate::scratch;
use crate::step::{Progress, ServerName};
use crate::supervise::Launch;
use crate::watchdog::StopSignal;

const SIGNALS: &[StopSignal] = &[StopSignal::Interrupt, StopSignal::Quit, StopSignal::Kill];
/// For a server whose data is thrown away.
const THROW_AWAY_SIGNALS: &[StopSignal] = &[StopSignal::Quit, StopSignal::Kill];
const CONFIG_FILE: &str = "postgresql.conf";

/// A running Postgres. Dropped: stopped, blocking while it writes a checkpoint (at most 30 s); it is also
/// stopped when our process dies.
#[derive(Debug)]
pub struct PostgresServer(Daemon<Postgres>);

impl PostgresServer {
    /// Finds or fetches the program, makes the data folder if it is missing, and starts it; returns when it
    /// accepts connections.
    ///
    /// # Errors
    /// [`StackError`]: no program, the folder is in use or unusable, or the server does not start.
    pub async fn start(config: PostgresConfig, progress: Progress<'_>) -> Result<Self, StackError> {
        Self::start_in(config, None, progress).await
    }

    /// As [`PostgresServer::start`]; `throw_away` is removed in the end.
    pub(crate) async fn start_in(
        config: PostgresConfig,
        throw_away: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let program = locate(&locate::POSTGRES, progress).await?;
        let folder = ServerFolder::take(&config.folder)?;
        let account = Account::for_postgres();
        account.check_reach(folder.path())?;
        folder
            .stop_leftover(ServerName::Postgres, SIGNALS, progress)
            .await;
        let programs = program.parent().unwrap_or(&program).to_owned();
        data_folder::make(folder.path(), &programs, config.profile, progress).await?;
        let socket = scratch::socket_folder()?;
        account.own(socket.path())?;
        let signals = if throw_away.is_some() {
            THROW_AWAY_SIGNALS
        } else {
            SIGNALS
        };
        let PostgresConfig {
            port: preferred,
            profile,
            ..
        } = config;
        let postgres = Postgres {
            programs,
            socket,
            profile,
            signals,
            preferred,
            port: 0,
        };
        Ok(Self(
            Daemon::start(postgres, folder, throw_away, progress).await?,
        ))
    }

    /// The URL of a database of this server, over its Unix socket, such as
    /// `postgres://hansard@localhost:5432/name?host=/tmp/hansard-x`. It stays the same over restarts. Without
    /// the `host` parameter it is the URL over TCP.
    #[must_use]
    pub fn database_url(&self, name: &str) -> String {
        database::url(self.0.server.address(), name)
    }

    /// Creates the database `name` unless it is there: empty, UTF-8.
    ///
    /// # Errors
    /// [`StackError::NoDatabase`] when the name is not 1 to 63 of `a-z`, `0-9`, `_`, or Postgres refuses.
    pub async fn create_database(&self, name: &str) -> Result<(), StackError> {
        database::create(&self.tool("createdb"), self.0.server.address(), name).await
    }

    /// The path of one of Postgres's own programs, such as `psql`; it may be missing.
    #[must_use]
    pub fn tool(&self, name: &str) -> PathBuf {
        self.0.server.programs.join(name)
    }

    /// The TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.server.port
    }

    /// The process id of the postmaster; `None` after [`PostgresServer::kill`] and a failed
    /// [`PostgresServer::restart`].
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.0.pid()
    }

    /// The folder of its data and log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Kills the postmaster with -9, as a crash would, and waits until it and its sessions have ended.
    pub fn kill(&mut self) {
        self.0.kill();
    }

    /// Freezes the server and its sessions: connections stay open and nothing answers.
    pub fn pause(&mut self) {
        self.0.pause();
    }

    /// Undoes [`PostgresServer::pause`].
    pub fn resume(&mut self) {
        self.0.resume();
    }

    /// Starts it again on the same port, socket and data; one that runs is stopped first.
    ///
    /// # Errors
    /// [`StackError::DidNotStart`], [`StackError::Storage`] or [`StackError::Unrunnable`]: it is not running.
    pub async fn restart(&mut self) -> Result<(), StackError> {
        self.0.restart().await
    }

    /// Stops it cleanly, within 30 s.
    pub async fn stop(mut self) {
        self.0.stop().await;
    }

    pub(crate) async fn revive(&mut self, progress: Progress<'_>) -> Result<(), StackError> {
        self.0.revive(progress).await
    }
}

#[derive(Debug)]
struct Postgres {
    programs: PathBuf,
    socket: TempDir,
    profile: Profile,
    signals: &'static [StopSignal],
    preferred: Option<u16>,
    port: u16,
}

impl Postgres {
    fn address(&self) -> Address<'_> {
        Address {
            socket_folder: self.socket.path(),
            port: self.port,
        }
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
        data_folder::disarm_stale_lock(&data)?;
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
            litter: vec![self.socket.path().to_owned()],
        })
    }

    async fn is_ready(&self, folder: &Path, pid: u32) -> bool {
        data_folder::accepts_connections(&data_folder::path(folder), pid)
    }
}
