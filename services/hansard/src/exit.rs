//! How the program ends, and what it says when it fails.

use std::io::{self, Write as _};
use std::process::ExitCode;

use runtime::config::ConfigErrors;

use crate::client::AddressError;
use crate::console;

/// How a command ended. The codes are stable: scripts branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: it did what was asked.
    Done,
    /// 1: it failed; standard error says why.
    Failed,
    /// 2: the arguments or the configuration are wrong; nothing was done.
    Usage,
    /// 3: `import` could not keep some conversations; standard error names each.
    SomeRefused,
    /// 5: what was verified is not what it should be.
    Differs,
    /// 6: something needs an operator; standard output says what.
    NeedsOperator,
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::SomeRefused => 3,
            Self::Differs => 5,
            Self::NeedsOperator => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The codes, for `--help`.
pub const HELP: &str = "\
Exit codes:
  0    done
  1    failed; standard error says why
  2    wrong arguments or configuration; nothing was done
  3    import: some conversations could not be kept
  5    verify, rebuild, archive, verify-receipt, erase verify-receipt: it is not as it should be
  6    status, watch, parked retry: something needs an operator
  130  a second Ctrl-C ended it at once";

/// The arguments do not go together.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// The exit code of an error, after one line on standard error; an error of the configuration has a line for each problem.
#[must_use]
pub fn of_error(program: &str, error: &anyhow::Error) -> Exit {
    if is_closed_pipe(error) {
        // The reader of the output has closed it.
        return Exit::Done;
    }
    // A closed standard error has no reader.
    drop(writeln!(console::err(), "{program}: {}", describe(error)));
    if error.is::<ConfigErrors>() || error.is::<UsageError>() || error.is::<AddressError>() {
        Exit::Usage
    } else {
        Exit::Failed
    }
}

/// The error and its causes, without those whose words are in the one before already.
fn describe(error: &anyhow::Error) -> String {
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

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context as _, anyhow};

    use super::*;

    fn check(error: impl Into<anyhow::Error>, expected: Exit) {
        assert_eq!(of_error("hansard", &error.into()), expected);
    }

    #[test]
    fn codes_tell_what_kind_of_failure_it_is() {
        check(anyhow!("no"), Exit::Failed);
        check(UsageError("no".to_owned()), Exit::Usage);
        check(ConfigErrors(Vec::new()), Exit::Usage);
        check(io::Error::from(io::ErrorKind::BrokenPipe), Exit::Done);
        check(io::Error::from(io::ErrorKind::NotFound), Exit::Failed);
    }

    #[test]
    fn a_failure_is_one_line_with_its_causes() {
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot start: disk full");
        assert_eq!(describe(&error.unwrap_err()), "cannot start: disk full");
        let error = Err::<(), _>(anyhow!("disk full")).context("cannot start");
        assert_eq!(describe(&error.unwrap_err()), "cannot start: disk full");
    }
}
