//! A managed nats-server.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::config::{NatsConfig, USER, render};
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

const SIGNALS: &[StopSignal] = &[StopSignal::INTERRUPT, StopSignal::KILL];
/// For a server with a temporary store.
const TEMPORARY_SIGNALS: &[StopSignal] = &[StopSignal::KILL];
const CONFIG_FILE: &str = "nats.conf";
const PORTS_FOLDER: &str = "ports";
const FILE_MODE: u32 = 0o600;

/// A running nats-server. A drop stops it and blocks for some milliseconds (at most 20 s). It is also stopped when this
/// process ends.
pub type NatsServer = Daemon<Nats>;

impl NatsServer {
    /// Finds or fetches the program and starts it; returns when clients can use `JetStream`.
    ///
    /// # Errors
    /// [`StackError`]: no program, the folder is in use or cannot be used, or the server does not start.
    pub async fn start(config: NatsConfig, progress: Progress<'_>) -> Result<Self, StackError> {
        Self::start_in(config, None, progress).await
    }

    /// Like [`NatsServer::start`]; `temporary` is removed at the end.
    pub(crate) async fn start_in(
        config: NatsConfig,
        temporary: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let program = locate(&locate::NATS, progress).await?;
        let folder = ServerFolder::lock(&config.folder)?;
        folder.stop_leftover(ServerName::Nats, SIGNALS, progress).await;
        let signals = temporary.as_ref().map_or(SIGNALS, |_| TEMPORARY_SIGNALS);
        let nats = Nats { program, config, signals, ports: Ports::default() };
        Self::start_server(nats, folder, temporary, progress).await
    }

    /// The URL for clients, such as `nats://127.0.0.1:4222`, or `nats://hansard:password@127.0.0.1:4222`. A restart does not change it.
    #[must_use]
    pub fn url(&self) -> String {
        let user =
            self.server.config.password.as_deref().map_or_else(String::new, |password| format!("{USER}:{password}@"));
        format!("nats://{user}127.0.0.1:{}", self.server.ports.client)
    }

    /// The port for clients on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.ports.client
    }

    /// The URL of the monitoring pages (`/healthz`, `/varz`, `/jsz`), such as `http://127.0.0.1:8222`.
    #[must_use]
    pub fn monitor_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.server.ports.monitor)
    }
}

/// Writes a file that may contain a password.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(file)?;
    file.write_all(text.as_bytes())
}

/// The differences of nats-server.
#[derive(Debug)]
pub struct Nats {
    program: PathBuf,
    config: NatsConfig,
    signals: &'static [StopSignal],
    ports: Ports,
}

impl Server for Nats {
    const NAME: ServerName = ServerName::Nats;

    fn choose_ports(&mut self) -> Result<(), StackError> {
        self.ports = Ports { client: port::choose(self.config.port)?, monitor: port::choose(None)? };
        Ok(())
    }

    fn prepare(&self, folder: &Path) -> Result<Launch, StackError> {
        // The ports file of a killed server must not count as readiness.
        let ports_folder = folder.join(PORTS_FOLDER);
        if ports_folder.exists() {
            fs::remove_dir_all(&ports_folder).map_err(storage(&ports_folder))?;
        }
        fs::create_dir(&ports_folder).map_err(storage(&ports_folder))?;
        let file = folder.join(CONFIG_FILE);
        let text = render(&self.config, folder, &ports_folder, self.ports);
        write_private(&file, &text).map_err(storage(&file))?;
        Ok(Launch {
            program: self.program.clone(),
            arguments: vec!["-c".into(), file.into()],
            account: Account::Caller,
            signals: self.signals,
            cleanup_folders: Vec::new(),
        })
    }

    async fn is_ready(&self, folder: &Path, _pid: u32) -> bool {
        listens(&folder.join(PORTS_FOLDER)) && is_healthy(self.ports.monitor).await
    }
}
