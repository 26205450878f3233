//! A shell process for each server. It stops the server when this process ends, also by a kill.
//!
//! Its stdin is a pipe from this process: the system closes the pipe when this process ends. The watchdog does not
//! depend on the thread that started it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// Maximum wait for the end of a server after a signal, before the next signal.
pub(crate) const SIGNAL_WAIT: Duration = Duration::from_secs(10);
const TENTHS_PER_SECOND: u64 = 10;

/// A signal that ends a server, and its name in the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StopSignal {
    name: &'static str,
    pub(crate) signal: Signal,
}

impl StopSignal {
    /// nats-server stops cleanly. Postgres ends its sessions and writes a checkpoint.
    pub(crate) const INTERRUPT: Self = Self::new("INT", Signal::INT);
    /// Postgres ends at once, and recovers from its log at the next start.
    pub(crate) const QUIT: Self = Self::new("QUIT", Signal::QUIT);
    /// Any process ends at once.
    pub(crate) const KILL: Self = Self::new("KILL", Signal::KILL);

    const fn new(name: &'static str, signal: Signal) -> Self {
        Self { name, signal }
    }
}

/// A running watchdog. A drop ends it and does not stop the server.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Starts the shell. When this process ends, the shell sends the `signals` one after the other until the server has
    /// ended, and then removes `cleanup_folders`.
    pub(crate) fn start(signals: &[StopSignal], cleanup_folders: &[PathBuf]) -> io::Result<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", include_str!("watchdog.sh"), "hansard-watchdog"])
            .arg((SIGNAL_WAIT.as_secs() * TENTHS_PER_SECOND).to_string())
            .args(signals.iter().map(|signal| signal.name))
            .arg("--")
            .args(cleanup_folders)
            .current_dir("/")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { shell })
    }

    /// Sets the server; called once.
    pub(crate) fn watch(&mut self, server: Pid) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(stdin) => writeln!(stdin, "{server}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Killed before its pipe closes, so that it does not stop the server.
        if let Err(error) = self.shell.kill().and_then(|()| self.shell.wait()) {
            tracing::warn!(%error, "the watchdog process did not end");
        }
    }
}
