//! A shell beside each server that stops it when we die, however we die.
//!
//! Its stdin is a pipe whose other end only we hold: the system closes it with our last breath. It is tied
//! to our process, not to the thread that started it.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};

/// How long a server may take to end after one signal, before the next one.
pub(crate) const SIGNAL_WAIT: Duration = Duration::from_secs(10);
const TENTHS_PER_SECOND: u64 = 10;

/// A signal that ends a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// nats-server: clean end. Postgres: ends its sessions, writes a checkpoint.
    Interrupt,
    /// Postgres: ends at once, and recovers from its log at the next start.
    Quit,
    /// Any process.
    Kill,
}

impl StopSignal {
    fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "INT",
            Self::Quit => "QUIT",
            Self::Kill => "KILL",
        }
    }

    pub(crate) fn signal(self) -> Signal {
        match self {
            Self::Interrupt => Signal::INT,
            Self::Quit => Signal::QUIT,
            Self::Kill => Signal::KILL,
        }
    }
}

/// Dropped: ends without touching the server.
#[derive(Debug)]
pub(crate) struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// Starts the shell. When we die it sends each of `signals` in turn until the server has ended, and
    /// then removes the folders of `litter`.
    pub(crate) fn start(signals: &[StopSignal], litter: &[PathBuf]) -> io::Result<Self> {
        let shell = Command::new("/bin/sh")
            .args(["-c", include_str!("watchdog.sh"), "hansard-watchdog"])
            .arg((SIGNAL_WAIT.as_secs() * TENTHS_PER_SECOND).to_string())
            .args(signals.iter().map(|signal| signal.name()))
            .arg("--")
            .args(litter)
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

    /// Names the server; said once.
    pub(crate) fn watch(&mut self, server: Pid) -> io::Result<()> {
        match &mut self.shell.stdin {
            Some(stdin) => writeln!(stdin, "{server}"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // Killed before its pipe closes, so that it never takes our goodbye for our death.
        if let Err(error) = self.shell.kill().and_then(|()| self.shell.wait()) {
            tracing::warn!(%error, "a watchdog did not end");
        }
    }
}
