//! Runs one test of this binary again, as a process of its own that can be killed or starved.

use std::env;
use std::process::Command;

/// Set in the process that is run again; the test is skipped everywhere else.
pub(crate) const FOLDER_VARIABLE: &str = "DEVSTACK_TEST_FOLDER";

/// The command that runs the test `name` alone.
pub(crate) fn rerun(name: &str) -> Command {
    let mut command = Command::new(env::current_exe().expect("this binary"));
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command
}

/// The folder given by the starter; `None` in an ordinary run.
pub(crate) fn folder_given() -> Option<std::path::PathBuf> {
    env::var_os(FOLDER_VARIABLE).map(Into::into)
}
