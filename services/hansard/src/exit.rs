//! Exit codes and error output.

use std::io::{self, Write as _};
use std::process::ExitCode;

use runtime::config::ConfigErrors;

use crate::client::AddressError;
use crate::console;

/// The result of a command. The exit codes are stable, because scripts depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: success.
    Done,
    /// 1: failure; the cause is on standard error.
    Failed,
    /// 2: invalid arguments or configuration; nothing was done.
    Usage,
    /// 3: `import` rejected conversations; standard error lists them.
    SomeRejected,
    /// 5: a verification found differences.
    Differs,
    /// 6: something needs an operator; standard output lists it.
    NeedsOperator,
    /// 7: `chat`: a tool call waits for a decision or a result.
    WaitsForTool,
    /// 130: Ctrl-C stopped an answer of `chat`; standard output has what was kept.
    Stopped,
}

impl Exit {
    /// This exit code if `is_so`, else success.
    pub(crate) fn when(self, is_so: bool) -> Self {
        if is_so { self } else { Self::Done }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::SomeRejected => 3,
            Exit::Differs => 5,
            Exit::NeedsOperator => 6,
            Exit::WaitsForTool => 7,
            Exit::Stopped => 130,
        })
    }
}

/// The exit codes for `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0    success
  1    failure; the cause is on standard error
  2    invalid arguments or configuration; nothing was done
  3    import: some conversations were rejected
  5    verify, rebuild, archive, verify-receipt, erase verify-receipt: differences were found
  6    status, watch, parked retry: something needs an operator
  7    chat: a tool call waits for a decision or a result
  130  Ctrl-C stopped an answer of chat, or a second Ctrl-C stopped any command immediately";

/// Invalid arguments.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Prints an error to standard error and returns its exit code. Configuration errors have one line per problem.
pub(crate) fn report_error(program: &str, error: &anyhow::Error) -> Exit {
    if error.downcast_ref().map(io::Error::kind) == Some(io::ErrorKind::BrokenPipe) {
        // The reader has closed the output, as `head` does.
        return Exit::Done;
    }
    // A closed standard error is ignored.
    drop(writeln!(console::err(), "{program}: {}", describe(error)));
    if error.is::<ConfigErrors>() || error.is::<UsageError>() || error.is::<AddressError>() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}

/// The error and its causes, without causes that the previous text contains.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    fn check(error: impl Into<anyhow::Error>, expected: Exit) {
        assert_eq!(report_error("hansard", &error.into()), expected);
    }

    #[test]
    fn each_error_has_its_exit_code() {
        check(anyhow!("no"), Exit::Failed);
        check(UsageError("no".to_owned()), Exit::Usage);
        check(ConfigErrors(Vec::new()), Exit::Usage);
        check(io::Error::from(io::ErrorKind::BrokenPipe), Exit::Done);
        check(io::Error::from(io::ErrorKind::NotFound), Exit::Failed);
    }

    #[test]
    fn an_error_is_one_line_with_its_causes() {
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot start: disk full");
        assert_eq!(describe(&error.unwrap_err()), "cannot start: disk full");
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot start");
        assert_eq!(describe(&error.unwrap_err()), "cannot start: disk full");
    }
}
