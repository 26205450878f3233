//! Runs one test of this binary in its own process, which a test can kill or start without programs.

use std::env;
use std::process::Command;

/// Set in the new process; without it, the test does nothing.
pub(crate) const FOLDER_VARIABLE: &str = "DEVSTACK_TEST_FOLDER";

/// The command that runs the test `name` alone.
pub(crate) fn rerun(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command
}

/// The folder from the starter; `None` in an ordinary run.
pub(crate) fn folder_given() -> Option<std::path::PathBuf> {
    env::var_os(FOLDER_VARIABLE).map(Into::into)
}
