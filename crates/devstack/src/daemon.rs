//! The parts that both servers share: the folder, the start of the process until it is ready, and its control.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::error::{StackError, unrunnable};
use crate::folder::ServerFolder;
use crate::step::{Progress, ServerName, Step};
use crate::supervise::{Launch, Supervised, log_path, reason};

/// Maximum time until a server is ready; Postgres may have to recover from a long log.
const READY_LIMIT: Duration = Duration::from_mins(2);
const READY_POLL: Duration = Duration::from_millis(5);
/// Maximum number of starts if a server ends before it is ready: another process may have taken its port, or the shared
/// memory of a killed server still exists.
const ATTEMPTS_MAX: u32 = 6;
/// The pause before the second attempt; it is also the increment for each further pause.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// Maximum number of restarts of one server by [`crate::Stack::keep_running`].
pub const RESTARTS_MAX: u32 = 5;

/// The differences between the servers.
pub(crate) trait Server: fmt::Debug + Send {
    const NAME: ServerName;

    fn choose_ports(&mut self) -> Result<(), StackError>;

    /// Writes the configuration, and returns the command of the process.
    fn prepare(&self, folder: &Path) -> Result<Launch, StackError>;

    /// Whether the last started process serves its clients.
    fn is_ready(&self, folder: &Path, pid: u32) -> impl Future<Output = bool> + Send;
}

/// A server process in its folder. A drop stops the process and removes a temporary folder.
#[derive(Debug)]
pub struct Daemon<S> {
    // The order matters: the process must end before its folders are removed.
    process: Option<Supervised>,
    pub(crate) server: S,
    folder: ServerFolder,
    temporary: Option<TempDir>,
    restarts: u32,
}

#[expect(private_bounds, reason = "the servers of this crate are the only ones")]
impl<S: Server> Daemon<S> {
    /// Starts the server on free ports. `temporary` is removed at the end.
    pub(crate) async fn start_server(
        server: S,
        folder: ServerFolder,
        temporary: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let mut daemon = Self { process: None, server, folder, temporary, restarts: 0 };
        let started = Instant::now();
        let mut pause = Duration::ZERO;
        loop {
            daemon.server.choose_ports()?;
            pause += RETRY_PAUSE;
            if daemon.attempt(pause).await? {
                progress(Step::Ready(S::NAME, started.elapsed()));
                return Ok(daemon);
            }
        }
    }

    /// The process id; `None` after `kill` or a failed `restart`.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Supervised::id)
    }

    /// The folder of its data, configuration and log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Kills the process with -9, like a crash, and waits until it and its children have ended. The data remains.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    /// Stops the process and its children with SIGSTOP: connections remain open without responses.
    pub fn pause(&mut self) {
        if let Some(process) = &mut self.process {
            process.pause();
        }
    }

    /// Continues the processes after `pause`.
    pub fn resume(&mut self) {
        if let Some(process) = &mut self.process {
            process.resume();
        }
    }

    /// Stops the server cleanly, within 30 s.
    pub async fn stop(mut self) {
        self.stop_process().await;
    }

    /// Stops the server if it runs, and starts it on the same ports and data.
    ///
    /// # Errors
    /// [`StackError::DidNotStart`], [`StackError::Storage`] or [`StackError::Unrunnable`]: it does not run.
    pub async fn restart(&mut self) -> Result<(), StackError> {
        self.stop_process().await;
        let mut pause = RETRY_PAUSE;
        while !self.attempt(pause).await? {
            pause += RETRY_PAUSE;
        }
        Ok(())
    }

    /// Whether the server is ready. Returns `false` after a pause if the process ended and can be started again.
    async fn attempt(&mut self, pause: Duration) -> Result<bool, StackError> {
        match self.start_process().await? {
            Readiness::Ready => return Ok(true),
            Readiness::Ended if pause < RETRY_PAUSE * ATTEMPTS_MAX => {}
            Readiness::Ended => return Err(self.failure(reason(self.folder()))),
            Readiness::TooSlow => {
                let limit = READY_LIMIT.as_secs();
                return Err(self.failure(format!("it was not ready after {limit} s")));
            }
        }
        sleep(pause).await;
        Ok(false)
    }

    async fn start_process(&mut self) -> Result<Readiness, StackError> {
        let mut launch = self.server.prepare(self.folder())?;
        let temporary = self.temporary.iter();
        launch.cleanup_folders.extend(temporary.map(|folder| folder.path().to_owned()));
        let mut process = Supervised::spawn(&launch, self.folder()).map_err(unrunnable(&launch.program))?;
        let deadline = Instant::now() + READY_LIMIT;
        while !self.server.is_ready(self.folder(), process.id()).await {
            if process.has_ended() {
                return Ok(Readiness::Ended);
            }
            if Instant::now() > deadline {
                return Ok(Readiness::TooSlow);
            }
            sleep(READY_POLL).await;
        }
        self.process = Some(process);
        Ok(Readiness::Ready)
    }

    fn failure(&self, reason: String) -> StackError {
        StackError::DidNotStart { server: S::NAME, reason, log: log_path(self.folder()) }
    }

    async fn stop_process(&mut self) {
        if let Some(process) = self.process.take()
            && let Err(error) = spawn_blocking(move || drop(process)).await
        {
            tracing::warn!(server = %S::NAME, %error, "stopping the server failed");
        }
    }

    /// Restarts the server if it has ended, at most [`RESTARTS_MAX`] times.
    pub(crate) async fn restart_if_ended(&mut self, progress: Progress<'_>) -> Result<(), StackError> {
        if !self.process.as_mut().is_none_or(Supervised::has_ended) {
            return Ok(());
        }
        if self.restarts == RESTARTS_MAX {
            return Err(StackError::KeepsEnding { server: S::NAME, log: log_path(self.folder()) });
        }
        self.restarts += 1;
        progress(Step::Restarting(S::NAME));
        let started = Instant::now();
        self.restart().await?;
        progress(Step::Ready(S::NAME, started.elapsed()));
        Ok(())
    }
}

enum Readiness {
    Ready,
    Ended,
    TooSlow,
}
