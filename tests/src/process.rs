//! A child process that is always killed at the end of the test.

use std::fs::{self, File};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::eventually::eventually;
use crate::program::{Program, inherited_variables};
use crate::watchdog::{GATE, Watchdog};

/// How much of the log's end a failed test shows.
const LOG_TAIL_BYTES: usize = 16 * 1024;

/// A running child. When dropped, it is killed; its log is shown if the test fails.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    // `None` after the child is collected, because its process id may then belong to another process.
    watchdog: Option<Watchdog>,
    folder: TempDir,
}

impl Process {
    /// Starts the binary with these arguments and variables, and no other `HANSARD_…` variables.
    ///
    /// # Panics
    /// When it cannot be started.
    #[must_use]
    pub fn start(program: &Program, arguments: &[&str], variables: &[(String, String)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let log = File::create(folder.path().join("log")).expect("a log");
        let mut watchdog = Watchdog::start(folder.path());
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GATE]).arg(program.path()).args(arguments);
        for name in inherited_variables() {
            command.env_remove(name);
        }
        let mut child = command
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::piped())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("a child");
        watchdog.watch(child.id());
        let mut gate = child.stdin.take().expect("a gate");
        std::io::Write::write_all(&mut gate, b"\n").expect("an open gate");
        Self { name: arguments.join(" "), child, watchdog: Some(watchdog), folder }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its log so far, from standard output and standard error.
    #[must_use]
    pub fn log(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The last bytes of its log, at most this many.
    #[must_use]
    pub fn log_end(&self, bytes_max: usize) -> String {
        let mut log = self.log();
        log.split_off(log.floor_char_boundary(log.len().saturating_sub(bytes_max)))
    }

    /// Kills it with -9, and waits for its end.
    pub fn kill(&mut self) {
        let _ended_by_itself = self.child.kill();
        let _collected = self.child.wait();
        self.watchdog = None;
    }

    /// Sends SIGTERM and waits for the end.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.wait().await
    }

    /// Sends a signal, unless it has ended.
    ///
    /// # Panics
    /// When the system refuses.
    pub fn signal(&mut self, signal: Signal) {
        if self.has_ended().is_none() {
            kill_process(Pid::from_child(&self.child), signal).expect("a signal to a child");
        }
    }

    /// Waits until it ends by itself.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn wait(&mut self) -> ExitStatus {
        let what = format!("the end of `{}`", self.name);
        eventually(&what, || std::future::ready(self.has_ended())).await
    }

    /// Its exit status, if it has ended.
    ///
    /// # Panics
    /// When the system does not report it.
    pub fn has_ended(&mut self) -> Option<ExitStatus> {
        let wait = self.child.try_wait().expect("a child of ours");
        if wait.is_some() {
            self.watchdog = None;
        }
        wait
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if thread::panicking() {
            let tail = self.log_end(LOG_TAIL_BYTES);
            // A failed test shows standard error; nothing else is available here.
            let _closed = std::io::Write::write_all(
                &mut std::io::stderr().lock(),
                format!("--- log of `{}`\n{tail}\n---\n", self.name).as_bytes(),
            );
        }
    }
}
