//! One server process: start, signals, and stop with a timeout.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::account::Account;
use crate::process_table;
use crate::watchdog::{SIGNAL_WAIT, StopSignal, Watchdog};

/// The process id of the server, in its folder. A later run stops this process if this run was killed.
pub(crate) const PID_FILE: &str = "server.pid";
const LOG_FILE: &str = "server.log";
const PREVIOUS_LOG_FILE: &str = "server.log.1";
const END_POLL: Duration = Duration::from_millis(5);
/// Size of the end of a log that is searched for the reason of a failure.
const LOG_TAIL_BYTES: u64 = 16 * 1024;

/// The shell waits for a line on stdin before it executes the program. The line is sent when the watchdog has the process
/// id, so that no kill of this process leaves an orphan.
const GATE: &str = r#"read -r _ && exec "$0" "$@""#;

pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) account: Account,
    /// Sent one after the other until the process ends.
    pub(crate) signals: &'static [StopSignal],
    /// Folders that the watchdog removes when this process ends.
    pub(crate) cleanup_folders: Vec<PathBuf>,
}

/// A running server. A drop stops it, and blocks at most [`SIGNAL_WAIT`] for each of its signals.
#[derive(Debug)]
pub(crate) struct Supervised {
    child: Child,
    /// `None` after the server has ended, since the system may reuse its process id.
    watchdog: Option<Watchdog>,
    signals: &'static [StopSignal],
    folder: PathBuf,
}

impl Supervised {
    /// Starts the server. `folder` is its working folder, with the log and the process id.
    pub(crate) fn spawn(launch: &Launch, folder: &Path) -> io::Result<Self> {
        let watchdog = Watchdog::start(launch.signals, &launch.cleanup_folders)?;
        let child = gated(launch, folder)?.spawn()?;
        let mut supervised =
            Self { child, watchdog: Some(watchdog), signals: launch.signals, folder: folder.to_owned() };
        supervised.open_gate()?;
        Ok(supervised)
    }

    fn open_gate(&mut self) -> io::Result<()> {
        let pid = self.pid();
        if let Some(watchdog) = &mut self.watchdog {
            watchdog.watch(pid)?;
        }
        fs::write(self.folder.join(PID_FILE), format!("{pid}\n"))?;
        match self.child.stdin.take() {
            Some(mut gate) => gate.write_all(b"\n"),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        let ended = !matches!(self.child.try_wait(), Ok(None));
        if ended {
            self.watchdog = None;
        }
        ended
    }

    /// Whether it ended with success; `None` while it runs.
    pub(crate) fn success(&mut self) -> Option<bool> {
        if !self.has_ended() {
            return None;
        }
        Some(matches!(self.child.try_wait(), Ok(Some(status)) if status.success()))
    }

    /// Stops the server, blocking at most [`SIGNAL_WAIT`] for each of its signals.
    pub(crate) fn stop(&mut self) {
        for signal in self.signals {
            if self.has_ended() {
                break;
            }
            self.signal(signal.signal);
            // Paused sessions would delay the end of Postgres.
            self.resume();
            wait_until(|| self.has_ended());
        }
        if !self.has_ended() {
            tracing::error!(pid = %self.pid(), "the server process does not end");
        }
    }

    /// Kills the server with -9 and waits, within [`SIGNAL_WAIT`], until it and its children have ended.
    pub(crate) fn kill(&mut self) {
        if self.has_ended() {
            return;
        }
        let children = process_table::children(self.pid());
        self.signal(Signal::KILL);
        wait_until(|| self.has_ended());
        for child in &children {
            // A paused child does not detect the end of its parent.
            let _ended_by_itself = kill_process(*child, Signal::CONT);
        }
        wait_until(|| !children.iter().any(|child| process_table::is_alive(*child)));
    }

    /// Stops the server and its children by a signal, and waits, within [`SIGNAL_WAIT`], until no thread runs.
    pub(crate) fn pause(&mut self) {
        self.signal_family(Signal::STOP);
        let mut family = process_table::children(self.pid());
        family.push(self.pid());
        wait_until(|| family.iter().all(|pid| process_table::is_stopped(*pid)));
    }

    /// Continues the processes after [`Supervised::pause`].
    pub(crate) fn resume(&mut self) {
        self.signal_family(Signal::CONT);
    }

    fn signal_family(&mut self, signal: Signal) {
        if self.has_ended() {
            return;
        }
        self.signal(signal);
        for child in process_table::children(self.pid()) {
            let _ended_by_itself = kill_process(child, signal);
        }
    }

    /// Called only before the child is reaped: the system cannot have reused its process id.
    fn signal(&self, signal: Signal) {
        if let Err(error) = kill_process(self.pid(), signal) {
            tracing::warn!(pid = %self.pid(), %error, "the signal cannot be sent to the server");
        }
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        self.stop();
        if self.has_ended() {
            let _stale_is_harmless = fs::remove_file(self.folder.join(PID_FILE));
        }
    }
}

/// Stops a process that is not a child of this process, blocking at most [`SIGNAL_WAIT`] for each signal.
pub(crate) fn stop_process(pid: Pid, signals: &[StopSignal]) {
    for signal in signals {
        if !process_table::is_alive(pid) {
            return;
        }
        let _ended_by_itself = kill_process(pid, signal.signal);
        let _ended_by_itself = kill_process(pid, Signal::CONT);
        wait_until(|| !process_table::is_alive(pid));
    }
}

pub(crate) fn log_path(folder: &Path) -> PathBuf {
    folder.join(LOG_FILE)
}

/// The last fatal line of the log, else its last line.
pub(crate) fn reason(folder: &Path) -> String {
    let tail = log_tail(&log_path(folder)).unwrap_or_default();
    let lines: Vec<&str> = tail.lines().filter(|line| !line.trim().is_empty()).collect();
    let fatal = lines.iter().rfind(|line| line.contains("FATAL:") || line.contains("[FTL]"));
    fatal.or(lines.last()).map_or_else(|| "the log is empty".to_owned(), |line| line.trim().to_owned())
}

fn log_tail(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let start = file.metadata()?.len().saturating_sub(LOG_TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(LOG_TAIL_BYTES).read_to_end(&mut tail)?;
    Ok(String::from_utf8_lossy(&tail).into_owned())
}

fn gated(launch: &Launch, folder: &Path) -> io::Result<Command> {
    let log = log_path(folder);
    if log.exists() {
        fs::rename(&log, folder.join(PREVIOUS_LOG_FILE))?;
    }
    let log = File::create(log)?;
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", GATE])
        .arg(&launch.program)
        .args(&launch.arguments)
        .current_dir(folder)
        // Variables such as PGOPTIONS or LC_ALL must not change the configuration.
        .env_clear()
        .envs([("PATH", "/usr/bin:/bin"), ("LC_ALL", "C")])
        .stdin(Stdio::piped())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Ctrl-C in the terminal must not reach the servers: this process stops them in its own order.
        .process_group(0);
    launch.account.apply(&mut command);
    Ok(command)
}

fn wait_until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + SIGNAL_WAIT;
    while !condition() && Instant::now() < deadline {
        thread::sleep(END_POLL);
    }
}
