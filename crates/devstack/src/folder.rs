//! The folder of a server: one process uses it at a time, and stops a server that a killed process left running.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf, absolute};
use std::process;

use rustix::process::Pid;
use tokio::task::spawn_blocking;

use crate::account::make_shared_folder;
use crate::error::{StackError, storage};
use crate::process_table;
use crate::step::{Progress, ServerName, Step};
use crate::supervise::{PID_FILE, stop_process};
use crate::watchdog::StopSignal;

const LOCK_FILE: &str = "lock";

/// A locked folder. The lock is held until it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct ServerFolder {
    path: PathBuf,
    _lock: File,
}

impl ServerFolder {
    /// Creates the folder if it is missing, and locks it for this process.
    pub(crate) fn lock(path: &Path) -> Result<Self, StackError> {
        make_shared_folder(&absolute(path).map_err(storage(path))?)?;
        let path = fs::canonicalize(path).map_err(storage(path))?;
        let lock_path = path.join(LOCK_FILE);
        let mut lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock_path)
            .map_err(storage(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StackError::InUse { folder: path, holder: holder(&mut lock) });
            }
            Err(TryLockError::Error(error)) => return Err(storage(&lock_path)(error)),
        }
        lock.set_len(0)
            .and_then(|()| lock.rewind())
            .and_then(|()| writeln!(lock, "{}", process::id()))
            .map_err(storage(&lock_path))?;
        Ok(Self { path, _lock: lock })
    }

    /// The absolute path without symbolic links.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Stops the server that a killed process left running on this folder. Its watchdog may stop it at the same time: a
    /// second signal has no effect.
    pub(crate) async fn stop_leftover(
        &self,
        server: ServerName,
        signals: &'static [StopSignal],
        progress: Progress<'_>,
    ) {
        if let Some(pid) = self.leftover() {
            progress(Step::StoppingLeftover(server));
            let stopped = spawn_blocking(move || stop_process(pid, signals)).await;
            tracing::info!(%server, %pid, done = stopped.is_ok(), "stopped a leftover server");
        }
    }

    /// The process of the id file, if it uses this folder: the system may have reused the id.
    fn leftover(&self) -> Option<Pid> {
        let pid = process_table::parse(&fs::read_to_string(self.path.join(PID_FILE)).ok()?)?;
        let command = process_table::command_line(pid)?;
        let folder = self.path.display();
        let ours = ["-c", "-D"].iter().any(|flag| command.contains(&format!(" {flag} {folder}/")));
        (ours && process_table::is_alive(pid)).then_some(pid)
    }
}

fn holder(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.read_to_string(&mut text).ok().and_then(|_| process_table::parse(&text)) {
        Some(pid) => format!("process {pid}"),
        None => "another process".to_owned(),
    }
}
