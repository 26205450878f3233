//! A nats-server of our own.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::config::{NatsConfig, render};
use super::ready::{Ports, is_healthy, listens};
use crate::account::Account;
use crate::daemon::{Daemon, Server};
use crate::error::{StackError, storage};
use crate::folder::ServerFolder;
use crate::locate::{self, locate};
use crate::port;
use crate::step::{Progress, ServerName};
use crate::supervise::Launch;
use crate::watchdog::StopSignal;

const SIGNALS: &[StopSignal] = &[StopSignal::Interrupt, StopSignal::Kill];
/// For a server whose store is thrown away.
const THROW_AWAY_SIGNALS: &[StopSignal] = &[StopSignal::Kill];
const CONFIG_FILE: &str = "nats.conf";
const PORTS_FOLDER: &str = "ports";

/// A running nats-server. Dropped: stopped, blocking for some milliseconds (at most 20 s); it is also stopped
/// when our process dies.
#[derive(Debug)]
pub struct NatsServer(Daemon<Nats>);

impl NatsServer {
    /// Finds or fetches the program and starts it; returns when clients can use `JetStream`.
    ///
    /// # Errors
    /// [`StackError`]: no program, the folder is in use or unusable, or the server does not start.
    pub async fn start(config: NatsConfig, progress: Progress<'_>) -> Result<Self, StackError> {
        Self::start_in(config, None, progress).await
    }

    /// As [`NatsServer::start`]; `throw_away` is removed in the end.
    pub(crate) async fn start_in(
        config: NatsConfig,
        throw_away: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let program = locate(&locate::NATS, progress).await?;
        let folder = ServerFolder::take(&config.folder)?;
        folder
            .stop_leftover(ServerName::Nats, SIGNALS, progress)
            .await;
        let signals = if throw_away.is_some() {
            THROW_AWAY_SIGNALS
        } else {
            SIGNALS
        };
        let ports = Ports {
            client: 0,
            monitor: 0,
        };
        let nats = Nats {
            program,
            config,
            signals,
            ports,
        };
        Ok(Self(
            Daemon::start(nats, folder, throw_away, progress).await?,
        ))
    }

    /// The URL for clients, such as `nats://127.0.0.1:4222`. It stays the same over restarts.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.0.server.ports.client)
    }

    /// The URL of the monitoring pages (`/healthz`, `/varz`, `/jsz`), such as `http://127.0.0.1:8222`.
    #[must_use]
    pub fn monitor_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.0.server.ports.monitor)
    }

    /// The process id; `None` after [`NatsServer::kill`] and a failed [`NatsServer::restart`].
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.0.pid()
    }

    /// The folder of its store, configuration and log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.0.path()
    }

    /// Kills it with -9, as a crash would, and waits for its end. The store stays.
    pub fn kill(&mut self) {
        self.0.kill();
    }

    /// Freezes it: connections stay open and nothing answers.
    pub fn pause(&mut self) {
        self.0.pause();
    }

    /// Undoes [`NatsServer::pause`].
    pub fn resume(&mut self) {
        self.0.resume();
    }

    /// Starts it again on the same ports and store; one that runs is stopped first.
    ///
    /// # Errors
    /// [`StackError::DidNotStart`], [`StackError::Storage`] or [`StackError::Unrunnable`]: it is not running.
    pub async fn restart(&mut self) -> Result<(), StackError> {
        self.0.restart().await
    }

    /// Stops it cleanly, within 20 s.
    pub async fn stop(mut self) {
        self.0.stop().await;
    }

    pub(crate) async fn revive(&mut self, progress: Progress<'_>) -> Result<(), StackError> {
        self.0.revive(progress).await
    }
}

#[derive(Debug)]
struct Nats {
    program: PathBuf,
    config: NatsConfig,
    signals: &'static [StopSignal],
    ports: Ports,
}

impl Server for Nats {
    const NAME: ServerName = ServerName::Nats;

    fn choose_ports(&mut self) -> Result<(), StackError> {
        self.ports = Ports {
            client: port::choose(self.config.port)?,
            monitor: port::choose(None)?,
        };
        Ok(())
    }

    fn prepare(&self, folder: &Path) -> Result<Launch, StackError> {
        // A port file of a killed server would tell that this one listens.
        let ports_folder = folder.join(PORTS_FOLDER);
        if ports_folder.exists() {
            fs::remove_dir_all(&ports_folder).map_err(storage(&ports_folder))?;
        }
        fs::create_dir(&ports_folder).map_err(storage(&ports_folder))?;
        let file = folder.join(CONFIG_FILE);
        let text = render(&self.config, folder, &ports_folder, self.ports);
        fs::write(&file, text).map_err(storage(&file))?;
        Ok(Launch {
            program: self.program.clone(),
            arguments: vec!["-c".into(), file.into()],
            account: Account::Caller,
            signals: self.signals,
            litter: Vec::new(),
        })
    }

    async fn is_ready(&self, folder: &Path, _pid: u32) -> bool {
        listens(&folder.join(PORTS_FOLDER)) && is_healthy(self.ports.monitor).await
    }
}
