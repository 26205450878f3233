//! A role in a process of its own, as deployed.
//!
//! It ends when this process does, however that ends: it watches the other end of its standard input.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::PRODUCT;
use super::report::{Memory, Resident};

/// How long a role may take to end.
const END_PATIENCE: Duration = Duration::from_secs(20);

/// A role; dropped, it is killed.
#[derive(Debug)]
pub struct RoleProcess {
    program: PathBuf,
    name: &'static str,
    settings: Vec<String>,
    process: Child,
}

impl RoleProcess {
    /// Starts a role with settings of the form `KEY=VALUE`.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn start(
        program: PathBuf,
        name: &'static str,
        settings: Vec<String>,
    ) -> anyhow::Result<Self> {
        let process = spawn(&program, name, &settings)?;
        Ok(Self {
            program,
            name,
            settings,
            process,
        })
    }

    /// Starts it again, after [`RoleProcess::stop`].
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        self.process = spawn(&self.program, self.name, &self.settings)?;
        Ok(())
    }

    /// Ends it; one that does not end in time is killed.
    pub async fn stop(&mut self) {
        // Closed: the sign to end.
        drop(self.process.stdin.take());
        if timeout(END_PATIENCE, self.process.wait()).await.is_err() {
            tracing::warn!(role = self.name, "a role did not end and is killed");
            drop(self.process.kill().await);
        }
    }

    /// Fails when it has ended by itself.
    ///
    /// # Errors
    /// It has.
    pub fn check_runs(&mut self) -> anyhow::Result<()> {
        match self.process.try_wait()? {
            Some(status) => anyhow::bail!("the {} ended: {status}", self.name),
            None => Ok(()),
        }
    }

    /// Most memory that it held; `None` where the system does not tell.
    #[must_use]
    pub fn memory(&self) -> Option<Memory> {
        Some(Memory {
            role: self.name,
            peak_bytes: self.resident()?.peak_bytes,
        })
    }

    /// The memory that it holds now, and held at most; `None` where the system does not tell.
    #[must_use]
    pub fn resident(&self) -> Option<Resident> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process.id()?)).ok()?;
        resident(&status)
    }
}

fn spawn(program: &PathBuf, name: &str, settings: &[String]) -> anyhow::Result<Child> {
    let mut command = Command::new(program);
    // Settings of the caller's environment are those of another stack.
    command
        .arg0(PRODUCT)
        .arg(name)
        .arg("--end-with-stdin")
        .env_clear()
        .kill_on_drop(true);
    command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    command.stdin(Stdio::piped()).stdout(Stdio::null());
    command
        .spawn()
        .with_context(|| format!("cannot run the {name}"))
}

fn resident(status: &str) -> Option<Resident> {
    Some(Resident {
        now_bytes: bytes(status, "VmRSS:")?,
        peak_bytes: bytes(status, "VmHWM:")?,
    })
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
        check(
            "Name:\tx\nVmHWM:\t   2048 kB\nVmRSS:\t 1 kB\n",
            Some((1_024, 2_097_152)),
        );
        check("Name:\tx\nVmHWM:\t 2048 kB\n", None);
        check("Name:\tx\n", None);
    }
}
