//! What the two servers share: a folder, a process that is started until it is ready, and its control.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::error::StackError;
use crate::folder::ServerFolder;
use crate::step::{Progress, ServerName, Step};
use crate::supervise::{Launch, Supervised, log_path, reason};

/// How long a server may take until it is ready; Postgres may have a long log to recover from.
const READY_LIMIT: Duration = Duration::from_mins(2);
const READY_POLL: Duration = Duration::from_millis(5);
/// How often a server is started when it ends before it is ready: another process took its port, or what a
/// killed one left in memory is not gone yet.
const ATTEMPTS_MAX: u32 = 6;
/// The pause before the second attempt; each further one is longer by as much.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// How often [`crate::Stack::keep_running`] starts one server again.
pub const RESTARTS_MAX: u32 = 5;

/// What is particular to one kind of server.
pub(crate) trait Server: fmt::Debug + Send {
    const NAME: ServerName;

    /// Takes ports that are free now.
    fn choose_ports(&mut self) -> Result<(), StackError>;

    /// Writes the configuration and says how to start the process.
    fn prepare(&self, folder: &Path) -> Result<Launch, StackError>;

    /// Whether the process that was started last serves its clients.
    fn is_ready(&self, folder: &Path, pid: u32) -> impl Future<Output = bool> + Send;
}

/// A server's process in its folder. Dropped: stopped, and a throw-away folder removed.
#[derive(Debug)]
pub(crate) struct Daemon<S> {
    // The order matters: the process ends before its folders go.
    process: Option<Supervised>,
    pub(crate) server: S,
    folder: ServerFolder,
    throw_away: Option<TempDir>,
    revivals: u32,
}

impl<S: Server> Daemon<S> {
    /// Starts the server on free ports. `throw_away` is the folder to remove in the end.
    pub(crate) async fn start(
        server: S,
        folder: ServerFolder,
        throw_away: Option<TempDir>,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let mut daemon = Self {
            process: None,
            server,
            folder,
            throw_away,
            revivals: 0,
        };
        let begun = Instant::now();
        let mut pause = Duration::ZERO;
        loop {
            daemon.server.choose_ports()?;
            pause += RETRY_PAUSE;
            if daemon.attempt(pause).await? {
                progress(Step::Ready(S::NAME, begun.elapsed()));
                return Ok(daemon);
            }
        }
    }

    /// Stops the server if it runs, and starts it on the same ports and data.
    pub(crate) async fn restart(&mut self) -> Result<(), StackError> {
        self.stop().await;
        let mut pause = RETRY_PAUSE;
        while !self.attempt(pause).await? {
            pause += RETRY_PAUSE;
        }
        Ok(())
    }

    /// Whether the server is ready; `false` after a pause when it ended and may be tried again.
    async fn attempt(&mut self, pause: Duration) -> Result<bool, StackError> {
        match self.start_process().await? {
            Readiness::Ready => return Ok(true),
            Readiness::Ended if pause < RETRY_PAUSE * ATTEMPTS_MAX => {}
            Readiness::Ended => return Err(self.failure(reason(self.path()))),
            Readiness::TooSlow => {
                let limit = READY_LIMIT.as_secs();
                return Err(self.failure(format!("it was not ready after {limit} s")));
            }
        }
        sleep(pause).await;
        Ok(false)
    }

    async fn start_process(&mut self) -> Result<Readiness, StackError> {
        let mut launch = self.server.prepare(self.path())?;
        launch.litter.extend(
            self.throw_away
                .iter()
                .map(|folder| folder.path().to_owned()),
        );
        let mut process =
            Supervised::spawn(&launch, self.path()).map_err(|source| StackError::Unrunnable {
                program: launch.program,
                source,
            })?;
        let deadline = Instant::now() + READY_LIMIT;
        while !self.server.is_ready(self.path(), process.id()).await {
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
        StackError::DidNotStart {
            server: S::NAME,
            reason,
            log: self.log(),
        }
    }

    /// Stops the server within the bounds of its signals.
    pub(crate) async fn stop(&mut self) {
        if let Some(process) = self.process.take()
            && let Err(error) = spawn_blocking(move || drop(process)).await
        {
            tracing::warn!(server = %S::NAME, %error, "a stop was not awaited");
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    pub(crate) fn pause(&mut self) {
        if let Some(process) = &mut self.process {
            process.pause();
        }
    }

    pub(crate) fn resume(&mut self) {
        if let Some(process) = &mut self.process {
            process.resume();
        }
    }

    /// `None` after [`Daemon::kill`] and a failed [`Daemon::restart`].
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Supervised::id)
    }

    /// Starts the server again if it has ended, at most [`RESTARTS_MAX`] times.
    pub(crate) async fn revive(&mut self, progress: Progress<'_>) -> Result<(), StackError> {
        if !self.process.as_mut().is_none_or(Supervised::has_ended) {
            return Ok(());
        }
        if self.revivals == RESTARTS_MAX {
            return Err(StackError::KeepsEnding {
                server: S::NAME,
                log: self.log(),
            });
        }
        self.revivals += 1;
        progress(Step::Restarting(S::NAME));
        let begun = Instant::now();
        self.restart().await?;
        progress(Step::Ready(S::NAME, begun.elapsed()));
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    fn log(&self) -> PathBuf {
        log_path(self.path())
    }
}

enum Readiness {
    Ready,
    Ended,
    TooSlow,
}
