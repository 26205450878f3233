//! Runs commands of the `hansard` binary.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// The timeout of a command: `dev` starts two servers and imports real conversations.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(3);

/// The binary of this package. A macro, because only test targets know its path.
#[macro_export]
macro_rules! program {
    () => {
        $crate::program::Program::at(env!("CARGO_BIN_EXE_hansard-under-test"))
    };
}

/// The `hansard` binary.
#[derive(Debug, Clone)]
pub struct Program(PathBuf);

/// The result of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Program {
    /// The binary at this path.
    #[must_use]
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Runs a command to its end, without standard input and with only the given `HANSARD_…` variables.
    ///
    /// # Panics
    /// When it does not end in time.
    pub async fn run<A: Into<OsString>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        variables: &[(String, String)],
    ) -> CommandOutput {
        let mut command = Command::new(&self.0);
        command.args(arguments.into_iter().map(Into::into));
        for name in inherited_variables() {
            command.env_remove(name);
        }
        command.envs(variables.iter().map(|(name, value)| (name, value))).stdin(Stdio::null()).kill_on_drop(true);
        let output = timeout(COMMAND_TIMEOUT, command.output())
            .await
            .expect("the end of a command")
            .expect("a command that can be run");
        CommandOutput {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Variables of the programs that servers run.
const OF_PROGRAMS: [&str; 2] = ["HANSARD_CACHE_DIR", "HANSARD_POSTGRES_BIN"];

/// The inherited `HANSARD_…` variables, except those of the servers' programs.
pub(crate) fn inherited_variables() -> impl Iterator<Item = OsString> {
    std::env::vars_os()
        .map(|(name, _)| name)
        .filter(|name| name.to_str().is_some_and(|name| name.starts_with("HANSARD_") && !OF_PROGRAMS.contains(&name)))
}
