//! The `hansard` binary: how it is called, and what comes of a command that ends by itself.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// How long a command may take to its end: `dev` makes two servers and imports real conversations.
const COMMAND_PATIENCE: Duration = Duration::from_mins(3);

/// The binary that this package builds. A macro, since only tests are told where it is.
#[macro_export]
macro_rules! program {
    () => {
        $crate::program::Program::at(env!("CARGO_BIN_EXE_hansard-under-test"))
    };
}

/// The `hansard` binary.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub stdout: String,
    /// What it wrote to standard error.
    pub stderr: String,
}

impl Program {
    /// The binary at this path.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a command to its end, with nothing on standard input and no `HANSARD_…` variables but the given ones.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn run<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        variables: &[(String, String)],
    ) -> Ended {
        let mut command = Command::new(&self.0);
        command.args(arguments.into_iter().map(Into::into));
        for name in inherited() {
            command.env_remove(name);
        }
        command
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = timeout(COMMAND_PATIENCE, command.output()).await;
        let output = output
            .expect("the end of a command")
            .expect("a command that can be run");
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The settings in the test's own environment, which are nobody's here; the cache of programs is one of the machine's.
pub(crate) fn inherited() -> impl Iterator<Item = OsString> {
    std::env::vars_os().map(|(name, _)| name).filter(|name| {
        name.to_str()
            .is_some_and(|name| name.starts_with("HANSARD_") && name != "HANSARD_CACHE_DIR")
    })
}
