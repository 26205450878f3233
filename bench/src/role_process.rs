//! A role in its own process, as in deployments.
//!
//! It ends when this process ends, for any reason: it watches its standard input.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::PRODUCT;
use super::report::{Memory, Resident};

const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A role's process; killed when dropped.
pub(crate) struct RoleProcess {
    program: PathBuf,
    name: &'static str,
    settings: Vec<String>,
    process: Child,
}

impl RoleProcess {
    /// Starts a role with settings of the form `KEY=VALUE`.
    pub(crate) fn start(program: PathBuf, name: &'static str, settings: Vec<String>) -> anyhow::Result<Self> {
        Ok(Self { process: spawn(&program, name, &settings)?, program, name, settings })
    }

    /// Starts the role again after [`RoleProcess::stop`].
    pub(crate) fn start_again(&mut self) -> anyhow::Result<()> {
        self.process = spawn(&self.program, self.name, &self.settings)?;
        Ok(())
    }

    /// Stops the role; kills it after a timeout.
    pub(crate) async fn stop(&mut self) {
        // Closing standard input stops the role.
        drop(self.process.stdin.take());
        if timeout(STOP_TIMEOUT, self.process.wait()).await.is_err() {
            tracing::warn!(role = self.name, "a role did not stop in time and is killed");
            drop(self.process.kill().await);
        }
    }

    /// Fails if the role has ended.
    pub(crate) fn check_runs(&mut self) -> anyhow::Result<()> {
        match self.process.try_wait()? {
            Some(status) => anyhow::bail!("the {} ended: {status}", self.name),
            None => Ok(()),
        }
    }

    /// The process id, while it runs.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    /// Its peak memory; `None` if the system does not report it.
    pub(crate) fn memory(&self) -> Option<Memory> {
        Some(Memory { role: self.name, peak_bytes: self.resident()?.peak_bytes })
    }

    /// Its current and peak memory; `None` if the system does not report it.
    pub(crate) fn resident(&self) -> Option<Resident> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()?)).ok()?;
        resident(&status)
    }
}

fn spawn(program: &PathBuf, name: &str, settings: &[String]) -> anyhow::Result<Child> {
    let mut command = Command::new(program);
    // The caller's environment may have settings of another stack.
    command.arg0(PRODUCT).arg(name).arg("--end-with-stdin").env_clear().kill_on_drop(true);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command.spawn().with_context(|| format!("cannot run the {name}"))
}

fn resident(status: &str) -> Option<Resident> {
    Some(Resident { now_bytes: bytes(status, "VmRSS:")?, peak_bytes: bytes(status, "VmHWM:")? })
}

fn bytes(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_linux() {
        let check = |status, expected: Option<(u64, u64)>| {
            let read = resident(status).map(|read| (read.now_bytes, read.peak_bytes));
            assert_eq!(read, expected);
        };
        check("Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t 1 kB\n", Some((1_024, 2_097_152)));
        check("Name:\tx\nVmHWM:\t 2048 kB\n", None);
        check("Name:\tx\n", None);
    }
}
