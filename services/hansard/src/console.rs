//! Standard output and standard error.
//!
//! Results are written with `writeln!(console::out(), ..)?`. If the reader has closed the pipe (`| head`), this returns an
//! `io::Error`, which ends the command with success, and does not panic.

use std::io::{self, StderrLock, StdoutLock, Write as _};

/// Whether results are printed as JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AsJson(pub(crate) bool);

/// Standard output, locked. Call it for each result; do not hold it across an await.
pub fn out() -> StdoutLock<'static> {
    io::stdout().lock()
}

/// Standard error, locked, for progress.
pub fn err() -> StderrLock<'static> {
    io::stderr().lock()
}

/// Prints the progress of a server's start or a download to standard error. Write errors are ignored.
#[expect(clippy::needless_pass_by_value, reason = "devstack passes a value")]
pub(crate) fn print_step(step: devstack::Step) {
    drop(writeln!(err(), "{step}"));
}

/// Prints a line to standard error. Write errors are ignored.
pub fn print_error(line: &str) {
    drop(writeln!(err(), "hansard: {line}"));
}
